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

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"
)

const deployed = "../../"

// composeFile contains the members of compose.yaml that the tests know. A file with any other member
// does not decode.
type composeFile struct {
	Name     string             `yaml:"name"`
	Services map[string]service `yaml:"services"`
	Volumes  map[string]any     `yaml:"volumes"`
	Networks map[string]any     `yaml:"networks"`
	Secrets  map[string]struct {
		File string `yaml:"file"`
	} `yaml:"secrets"`
	Store  any `yaml:"x-store"`
	Fenced any `yaml:"x-fenced"`
	Server any `yaml:"x-server"`
	Worker any `yaml:"x-worker"`
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

	Networks    networkNames `yaml:"networks"`
	Secrets     []string     `yaml:"secrets"`
	CapDrop     []string     `yaml:"cap_drop"`
	SecurityOpt []string     `yaml:"security_opt"`
	ReadOnly    bool         `yaml:"read_only"`
	Tmpfs       []string     `yaml:"tmpfs"`
	PidsLimit   int          `yaml:"pids_limit"`
	MemLimit    string       `yaml:"mem_limit"`
}

// networkNames are the networks of a service, by name. In each network the service may have a fixed
// address.
type networkNames map[string]struct {
	Address string `yaml:"ipv4_address"`
}

// UnmarshalYAML decodes a mapping of networks, or a list of their names.
func (n *networkNames) UnmarshalYAML(node *yaml.Node) error {
	*n = networkNames{}
	if node.Kind != yaml.SequenceNode {
		type plain networkNames
		return node.Decode((*plain)(n))
	}
	var names []string
	err := node.Decode(&names)
	for _, name := range names {
		(*n)[name] = struct {
			Address string `yaml:"ipv4_address"`
		}{}
	}
	return err
}

func composition(t *testing.T) composeFile {
	t.Helper()
	f, err := os.Open(deployed + "compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var c composeFile
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// wantCommand checks that the command line accepts the arguments, and that every PERDURE_ variable
// belongs to a flag of that command.
func wantCommand(t *testing.T, where string, args []string, variables map[string]string) {
	t.Helper()
	root := newRootCommand((&setup.App{Streams: terminal.Streams{Stdin: os.Stdin, Stdout: terminal.NewScreen(os.Stdout), Stderr: terminal.NewScreen(os.Stderr)}}))
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
		name := setup.VariableOf(f)
		known[name], known[name+"_FILE"] = true, true
	})
	for name := range variables {
		if strings.HasPrefix(name, "PERDURE_") && !known[name] {
			t.Errorf("%s: %s is no variable of %s", where, name, cmd.CommandPath())
		}
	}
}

var variable = regexp.MustCompile(`\$\{(\w+)`)

// TestComposeFitsTheProgram checks that compose.yaml contains only members that the tests know.
// Services, conditions, volumes and variables are consistent, and each command line is valid.
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

// TestComposeServicesAreConfined checks that services cannot gain privileges, and that services that
// restart have limits of processes and memory. Workers are only in the network named work, where the
// servers offer only their port for workers. No password is on a command line.
func TestComposeServicesAreConfined(t *testing.T) {
	c := composition(t)
	for name, s := range c.Services {
		if !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s may gain privileges", name)
		}
		own := s.Build.Target != ""
		if own && (!slices.Equal(s.CapDrop, []string{"ALL"}) || !s.ReadOnly) {
			t.Errorf("%s has capabilities or writes its image", name)
		}
		if s.Restart != "" && (s.PidsLimit == 0 || s.MemLimit == "") {
			t.Errorf("%s has no limit of processes or memory", name)
		}
		if len(s.Networks) == 0 {
			t.Errorf("%s is in no network of its own", name)
		}
		for network := range s.Networks {
			if _, there := c.Networks[network]; !there {
				t.Errorf("%s is in the network %s, which is none", name, network)
			}
		}
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s gets the secret %s, which is none", name, secret)
			}
		}
		if strings.Contains(strings.Join(s.Command, " "), "PASSWORD") {
			t.Errorf("%s has a password on its command line", name)
		}
	}
	for name, s := range c.Services {
		_, works := s.Networks["work"]
		switch {
		case !works:
		case strings.HasPrefix(name, "worker-"):
			if len(s.Networks) != 1 {
				t.Errorf("%s is in %v", name, s.Networks)
			}
		case strings.HasPrefix(name, "server-"):
			for _, flag := range []string{"--addr", "--grpc-addr", "--ops-addr"} {
				i := slices.Index(s.Command, flag)
				if i < 0 {
					t.Fatalf("%s has no %s", name, flag)
				}
				host, _, _ := strings.Cut(s.Command[i+1], ":")
				if (host == s.Networks["work"].Address) != (flag == "--grpc-addr") {
					t.Errorf("%s %s %s, and workers see %s", name, flag, host, s.Networks["work"].Address)
				}
			}
		default:
			t.Errorf("%s is in the workers' network", name)
		}
	}
}

// TestDockerfileFitsTheProgram checks that the Dockerfile has the targets that compose.yaml builds. Two
// images run as an unprivileged user, each CMD is a valid command line, and the version of Go is that
// of go.mod.
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

// variables returns the environment variables that a file of NAME=value lines sets.
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

// TestUnitsFitTheProgram checks that the systemd units start valid command lines, and their example
// variables belong to flags. If systemd is installed, systemd-analyze reports no problems.
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

// environment returns the PERDURE_ variables of a service for the data directory dir. The parameter
// `here` replaces addresses and paths in the values of the variables.
func environment(s service, here *strings.Replacer, dir string) []string {
	env := []string{"PERDURE_DATA=" + dir, "PERDURE_SCRIPTS=" + filepath.Dir(dir)}
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		if strings.HasPrefix(name, "PERDURE_") {
			env = append(env, name+"="+here.Replace(s.Environment[name]))
		}
	}
	return env
}

// TestTheRunbookQuotesTheProgram checks that each message that the runbook quotes occurs in the source
// of the program.
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
