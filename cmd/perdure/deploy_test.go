package main

import (
	"bufio"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"
)

const deployed = "../../"

// composed is what this program's tests understand of compose.yaml; what else
// stands there has to be added here.
type composed struct {
	Name     string             `yaml:"name"`
	Services map[string]service `yaml:"services"`
	Volumes  map[string]any     `yaml:"volumes"`
	Store    any                `yaml:"x-store"`
	Server   any                `yaml:"x-server"`
	Worker   any                `yaml:"x-worker"`
}

type service struct {
	Image string `yaml:"image"`
	Build struct {
		Context string `yaml:"context"`
		Target  string `yaml:"target"`
	} `yaml:"build"`
	Entrypoint  []string          `yaml:"entrypoint"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	DependsOn   map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
	Healthcheck struct {
		Test        []string `yaml:"test"`
		Interval    string   `yaml:"interval"`
		Timeout     string   `yaml:"timeout"`
		Retries     int      `yaml:"retries"`
		StartPeriod string   `yaml:"start_period"`
	} `yaml:"healthcheck"`
	Ports     []string       `yaml:"ports"`
	Volumes   []string       `yaml:"volumes"`
	Profiles  []string       `yaml:"profiles"`
	Restart   string         `yaml:"restart"`
	StopGrace string         `yaml:"stop_grace_period"`
	ShmSize   string         `yaml:"shm_size"`
	Ulimits   map[string]int `yaml:"ulimits"`
}

func composition(t *testing.T) composed {
	t.Helper()
	f, err := os.Open(deployed + "compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var c composed
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// wantCommand checks that the command line takes these arguments, and that every
// PERDURE_ variable stands for a flag of that command.
func wantCommand(t *testing.T, where string, args []string, variables map[string]string) {
	t.Helper()
	root := (&app{stdin: os.Stdin, stdout: newScreen(os.Stdout), stderr: newScreen(os.Stderr)}).root()
	cmd, rest, err := root.Find(args)
	if err != nil || cmd == root {
		t.Errorf("%s: %v is no command: %v", where, args, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %v: %v", where, args, err)
		return
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("%s: %v: %v", where, args, err)
	}
	known := map[string]bool{"PERDURE_SCRIPTED_JOURNAL": true}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := variableOf(f)
		known[name], known[name+"_FILE"] = true, true
	})
	for name := range variables {
		if strings.HasPrefix(name, "PERDURE_") && !known[name] {
			t.Errorf("%s: %s is no variable of %s", where, name, cmd.CommandPath())
		}
	}
}

var variable = regexp.MustCompile(`\$\{(\w+)`)

// compose.yaml has nothing in it that neither Compose nor this program would know:
// services, conditions, volumes and variables fit together, and each command line
// is one.
func TestComposeFitsTheProgram(t *testing.T) {
	c := composition(t)
	for _, want := range []string{"postgres", "nats", "migrate", "keys", "server-1", "server-2", "worker-1", "worker-2"} {
		if _, there := c.Services[want]; !there {
			t.Errorf("there is no service %s", want)
		}
	}
	for name, s := range c.Services {
		for other, on := range s.DependsOn {
			before, there := c.Services[other]
			switch {
			case !there:
				t.Errorf("%s depends on %s, which is none", name, other)
			case on.Condition == "service_healthy" && len(before.Healthcheck.Test) == 0:
				t.Errorf("%s waits for the health of %s, which has none", name, other)
			case !slices.Contains([]string{"service_healthy", "service_completed_successfully"}, on.Condition):
				t.Errorf("%s waits for %q", name, on.Condition)
			}
		}
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, there := c.Volumes[source]; !there {
				t.Errorf("%s mounts %s, which is not declared", name, source)
			}
		}
		if s.Build.Target == "" {
			continue
		}
		if s.Image != "perdure-"+s.Build.Target {
			t.Errorf("%s builds %s as the image %s", name, s.Build.Target, s.Image)
		}
		if s.Entrypoint == nil {
			wantCommand(t, name, s.Command, s.Environment)
		}
		if check := s.Healthcheck.Test; len(check) > 0 {
			wantCommand(t, name, check[2:], nil)
		}
	}
	raw, err := os.ReadFile(deployed + "compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	example := variables(t, "deploy/compose.env.example")
	for _, m := range variable.FindAllStringSubmatch(string(raw), -1) {
		if _, there := example[m[1]]; !there {
			t.Errorf("compose.env.example does not have %s", m[1])
		}
	}
}

// The images have the targets that compose.yaml builds, run as nobody special, and
// begin with command lines that are some.
func TestDockerfileFitsTheProgram(t *testing.T) {
	raw, err := os.ReadFile(deployed + "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range composition(t).Services {
		if s.Build.Target != "" && !strings.Contains(string(raw), " AS "+s.Build.Target+"\n") {
			t.Errorf("there is no target %s", s.Build.Target)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^CMD (\[.*\])$`).FindAllStringSubmatch(string(raw), -1) {
		var args []string
		if err := yaml.Unmarshal([]byte(m[1]), &args); err != nil {
			t.Fatal(err)
		}
		wantCommand(t, "Dockerfile", args, nil)
	}
	if n := strings.Count(string(raw), "\nUSER 10001:10001\n"); n != 2 {
		t.Errorf("%d images do not run as root, want 2", n)
	}
	golang, err := os.ReadFile(deployed + "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(golang))[1]
	if !strings.Contains(string(raw), "golang:"+version+"-") {
		t.Errorf("it does not build with Go %s", version)
	}
}

// variables reads a file of environment variables.
func variables(t *testing.T, file string) map[string]string {
	t.Helper()
	f, err := os.Open(deployed + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string]string{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, ok := strings.Cut(lines.Text(), "=")
		if ok && !strings.HasPrefix(name, "#") {
			all[name] = value
		}
	}
	return all
}

// The units of systemd begin with command lines that are some, with variables that
// stand for flags; systemd, where it is there, finds nothing to object to.
func TestUnitsFitTheProgram(t *testing.T) {
	program, err := exec.LookPath("perdure")
	if err != nil {
		t.Fatal(err)
	}
	for unit, example := range map[string]string{"perdure.service": "server.env.example", "perdure-worker.service": "worker.env.example"} {
		raw, err := os.ReadFile(deployed + "deploy/" + unit)
		if err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(string(raw), "\nExecStart=/usr/local/bin/perdure ")
		line, _, _ = strings.Cut(line, "\n")
		wantCommand(t, unit, strings.Fields(line), variables(t, "deploy/"+example))
		if _, err := exec.LookPath("systemd-analyze"); err != nil {
			continue
		}
		path := filepath.Join(t.TempDir(), unit)
		here := strings.ReplaceAll(string(raw), "/usr/local/bin/perdure", program)
		if err := os.WriteFile(path, []byte(here), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path).CombinedOutput()
		if err != nil || strings.Contains(string(out), unit+":") {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}

// environment puts the values of this machine in the place of those of the
// composition.
func environment(s service, here *strings.Replacer, dir string) []string {
	env := []string{"PERDURE_DATA=" + dir, "PERDURE_SCRIPTS=" + filepath.Dir(dir)}
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		if strings.HasPrefix(name, "PERDURE_") {
			env = append(env, name+"="+here.Replace(s.Environment[name]))
		}
	}
	return env
}

// What the runbook tells operators to look for is what the program says.
func TestTheRunbookQuotesTheProgram(t *testing.T) {
	raw, err := os.ReadFile(deployed + "docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(raw), "## When something is wrong\n")
	quotes := regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(table, -1)
	if !found || len(quotes) < 15 {
		t.Fatalf("the runbook has %d rows", len(quotes))
	}
	var said strings.Builder
	err = filepath.WalkDir(deployed, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		said.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range quotes {
		if !strings.Contains(said.String(), q[1]) {
			t.Errorf("nothing says %q", q[1])
		}
	}
}
