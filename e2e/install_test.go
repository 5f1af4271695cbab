package e2e

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// TestTheModuleInstallsByItsPath checks that the program can be installed by its path, as described in
// README and docs. A separate module with README's agent builds against the published module.
func TestTheModuleInstallsByItsPath(t *testing.T) {
	t.Parallel()
	user := newModuleUser(t, publishModule(t))

	bin := t.TempDir()
	user.runGo(t, t.TempDir(), "GOBIN="+bin, "install", published.Path+"/cmd/perdure@"+published.Version)
	perdure := filepath.Join(bin, "perdure")
	if said := printed(t, perdure, "version"); said != published.Version+"\n" {
		t.Errorf("perdure version printed %q, want %s", said, published.Version)
	}
	wantKnownModules(t, buildOf(t, perdure).Deps)

	agent := newAgentModule(t)
	user.runGo(t, agent, "GOBIN=", "build", "-o", "greeter", ".")
	if got := moduleIn(buildOf(t, filepath.Join(agent, "greeter")).Deps); got != published.Version {
		t.Errorf("the agent was built with version %q of the module, want %s", got, published.Version)
	}
}

// moduleUser runs the go command like a user who does not have this source tree. It has a module
// cache of its own, which is filled from proxies.
type moduleUser struct{ env []string }

// newModuleUser returns a user whose go command gets modules from three sources. The first is the
// parameter proxy, which has the module of the source tree. The second is this machine's module
// cache, which saves downloads. The third is the configured proxy. The user's go command uses no
// checksum database, because no such database has the module of the source tree; wantKnownModules
// checks the sums of the other modules. The flag -trimpath keeps the path of the module cache out
// of compiled files. Otherwise the test could not use packages that are in the build cache.
func newModuleUser(t *testing.T, proxy string) moduleUser {
	t.Helper()
	here := strings.Split(printed(t, "go", "env", "GOMODCACHE", "GOPROXY"), "\n")
	proxies := []string{proxy, fileURL(filepath.Join(here[0], "cache", "download")), here[1]}
	return moduleUser{append(os.Environ(),
		"GOMODCACHE="+t.TempDir(), "GOPROXY="+strings.Join(proxies, ","), "GOSUMDB=off", "GONOPROXY=none", "GOPRIVATE=",
		"GOFLAGS=-mod=mod -modcacherw -trimpath", "GOWORK=off", "CGO_ENABLED=0",
	)}
}

// runGo runs the go command in a folder. The parameter `variable` is an additional environment
// variable, as NAME=value.
func (u moduleUser) runGo(t *testing.T, dir, variable string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(u.env[:len(u.env):len(u.env)], variable, "PWD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s\n(files that git does not track are no part of the module)", strings.Join(args, " "), err, out)
	}
}

// newAgentModule creates a module with README's agent. The package clause and the imports come from
// the example that README names.
func newAgentModule(t *testing.T) string {
	t.Helper()
	readme := find(t, filepath.Join("..", "README.md"), "(?s)```go\n(.*?)```")
	head := find(t, filepath.Join("..", "examples", "firstagent", "main.go"), `(?s)(package main\n.*?\nimport \(.*?\n\)\n)`)
	sums, err := os.ReadFile(filepath.Join("..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "main.go"), head+"\n"+readme)
	writeFile(t, filepath.Join(dir, "go.mod"), "module example.com/greeter\n\ngo 1.26.0\n\nrequire "+published.Path+" "+published.Version+"\n")
	writeFile(t, filepath.Join(dir, "go.sum"), string(sums))
	return dir
}

// wantKnownModules checks that modules are in go.sum, by version and content.
func wantKnownModules(t *testing.T, modules []*debug.Module) {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join("..", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) == 0 {
		t.Error("the program has no modules in its build info")
	}
	for _, m := range modules {
		if line := m.Path + " " + m.Version + " " + m.Sum + "\n"; !strings.Contains("\n"+string(sums), "\n"+line) {
			t.Errorf("go.sum does not have %s", line)
		}
	}
}

// moduleIn returns the version of the published module among modules.
func moduleIn(modules []*debug.Module) string {
	for _, m := range modules {
		if m.Path == published.Path {
			return m.Version
		}
	}
	return ""
}

// buildOf returns the build info of a program.
func buildOf(t *testing.T, program string) *buildinfo.BuildInfo {
	t.Helper()
	built, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// find returns the text that the pattern's first group matches in a file.
func find(t *testing.T, file, pattern string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(pattern).FindSubmatch(raw)
	if found == nil {
		t.Fatalf("%s has nothing like %s", file, pattern)
	}
	return string(found[1])
}

// printed returns a program's standard output.
func printed(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}
