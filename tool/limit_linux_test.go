package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/sandbox"
	"github.com/perdure/perdure/tool/internal/confine"
	"github.com/perdure/perdure/tool/internal/group"
)

// TestLimitsOfACommand checks that a command that exceeds a limit is stopped, and that the result
// names the limit.
func TestLimitsOfACommand(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	o := WorkspaceOptions{DataDir: data, Limits: Limits{OpenFiles: 64, FileSize: 2 << 20, Processes: 40, Memory: 256 << 20}}
	try := func(t *testing.T, w *Workspace) {
		r := sh(t, w, "for i in {1..100}; do exec {fd}</dev/null || break; done; echo opened $i; ulimit -n; ulimit -Hn 100000; ulimit -Hn")
		if n := lineAfter(r.PlainText(), "opened"); n == "100" || n == "" {
			t.Errorf("files: %s", r.PlainText())
		}
		wantError(t, sh(t, w, "head -c 8000000 /dev/zero > big; s=$?; stat -c 'size %s' big; rm big; exit $s"), "size 2097152")
		wantError(t, use(t, w, "bash", args{"command": program + " " + attackMark + " eat 600", "timeout": 60}), "over a limit", "MiB of memory, and the limit is 256 MiB")
		wantError(t, use(t, w, "bash", args{"command": "for i in {1..80}; do sleep 71 & done; wait", "timeout": 60}), "over a limit", "processes, and the limit is 40")
		wantOK(t, sh(t, w, "echo fine; ulimit -c"), "fine", "0\n")
	}
	eachConfinementWith(t, dir, o, try)
	o.Unconfined = true
	t.Run("none", func(t *testing.T) { try(t, openDir(t, dir, o)) })
}

func lineAfter(text, word string) string {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, word+" "); found {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

func TestLimitsAreChecked(t *testing.T) {
	for field, l := range map[string]Limits{
		"limits.openFiles": {OpenFiles: 3}, "limits.fileSize": {FileSize: 100}, "limits.processes": {Processes: 1}, "limits.memory": {Memory: 1 << 20},
	} {
		if _, err := OpenWorkspace(t.TempDir(), "", WorkspaceOptions{Limits: l}); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: err = %v", field, err)
		}
	}
	if err := (Limits{-1, -1, -1, -1}).Check(); err != nil {
		t.Error(err)
	}
	full := group.Limits{}.Filled()
	if full.OpenFiles != 4096 || full.FileSize != 16<<30 || full.Processes != 1024 || full.Memory < 64<<20 {
		t.Errorf("the defaults are %+v", full)
	}
}

// TestCachesAreTheRunsOwn checks that a command's changes to toolchain caches and installation
// folders are not visible to the user. If commands have mount namespaces, the next command of the
// same run sees the changes, and commands of other runs do not.
func TestCachesAreTheRunsOwn(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	home := filepath.Join(filepath.Dir(dir), "home")
	put(t, filepath.Join(home, ".cache", "go-build", "seen"), "cached")
	put(t, filepath.Join(home, "go", "bin", "tool"), "#!/bin/sh\necho good")
	put(t, filepath.Join(home, ".cargo", "bin", "cargo-x"), "#!/bin/sh\necho good")
	t.Setenv("HOME", home)
	for _, name := range []string{"GOPATH", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	targets := []string{"go/bin/tool", ".cargo/bin/cargo-x", ".cache/go-build/seen", "go/bin/new", ".cache/pip/wheel"}
	s := openScratch(t)
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		w.box.Scratch = s.opened()
		w.ForRun(t.Name())
		for _, target := range targets {
			sh(t, w, fmt.Sprintf("mkdir -p %[1]s && echo evil > %[2]s", filepath.Dir(filepath.Join(home, target)), filepath.Join(home, target)))
		}
		for target, want := range map[string]string{targets[0]: "#!/bin/sh\necho good", targets[1]: "#!/bin/sh\necho good", targets[2]: "cached"} {
			if got := content(t, filepath.Join(home, target)); got != want {
				t.Errorf("%s is %q", target, got)
			}
		}
		for _, target := range targets[3:] {
			wantMissing(t, filepath.Join(home, target))
		}
		layered := w.box.Mounts
		if layered {
			wantOK(t, sh(t, w, "cat "+filepath.Join(home, targets[3])), "evil")
			w.ForRun("another " + t.Name())
			wantOK(t, sh(t, w, "cat ~/.cache/go-build/seen ~/go/bin/tool"), "cached", "good")
		}
		wantOK(t, sh(t, w, "d=$(go env GOCACHE) && mkdir -p $d && echo x > $d/own && cat $d/own"), "x\n")
		wantMissing(t, filepath.Join(home, ".cache", "go-build", "own"))
	})
}

// TestCachesShowNoDataDirectory checks that the overlay over a cache does not show a data directory
// that is in the cache.
func TestCachesShowNoDataDirectory(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, _ := layout(t, "data")
	home := filepath.Join(filepath.Dir(dir), "home")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	data := filepath.Join(home, ".cache", "perdure")
	put(t, filepath.Join(data, "token"), "top secret")
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		if r := sh(t, w, "cat "+data+"/token; grep -rs 'top secret' "+home); strings.Contains(r.PlainText(), "top secret") {
			t.Errorf("%s", r.PlainText())
		}
	})
}

// TestFilesThatRunLater checks files in the workspace that programs outside the sandbox later run.
// In a mount namespace of its own, or under bubblewrap, a command cannot change these files.
// Otherwise the result and an event report the changes.
func TestFilesThatRunLater(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	t.Setenv("HOME", dir)
	hook := filepath.Join(dir, ".git", "hooks", "pre-commit")
	files := map[string]string{hook: "good hook", filepath.Join(dir, ".git", "config"): "[core]\n", filepath.Join(dir, ".bashrc"): "good"}
	s := openScratch(t)
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		for path, good := range files {
			put(t, path, good)
		}
		w.box.Scratch = s.opened()
		w.ForRun(t.Name())
		fixed := w.box.Mounts || w.box.Method == sandbox.ByBwrap
		var events []Event
		ran := func(command string) Result {
			events = nil
			call := callOf(t, w, args{"command": command})
			call.Emit = func(data any) { events = append(events, data.(Event)) }
			return run(t, "bash", call)
		}
		ran("true")
		for path, good := range files {
			rel, _ := filepath.Rel(dir, path)
			r := ran("echo evil > " + path + "; echo evil >> " + path + "; mv " + path + " x; rm -f " + path)
			changed := contentOr(path) != good
			if changed == fixed {
				t.Errorf("%s: changed = %v", rel, changed)
			}
			if changed {
				wantText(t, r, r.IsError, "[changed: ")
				if len(events) != 1 || events[0].Type != "tool.guarded_change" {
					t.Errorf("%s: the events are %+v", rel, events)
				}
			}
			put(t, path, good)
			os.Remove(filepath.Join(dir, "x"))
		}
		// The command can still rename the folder .git and create missing files.
		r := ran("mv .git away; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; echo evil > .zshenv; true")
		wantText(t, r, r.IsError, "[changed: ", ".git/hooks", ".zshenv")
		os.RemoveAll(filepath.Join(dir, ".git"))
		os.RemoveAll(filepath.Join(dir, "away"))
		os.Remove(filepath.Join(dir, ".zshenv"))
		if r := ran("echo harmless > sub/b.txt; cat sub/b.txt"); strings.Contains(r.PlainText(), "[changed") || len(events) > 0 {
			t.Errorf("%s\n%+v", r.PlainText(), events)
		}
	})
}

func contentOr(path string) string {
	raw, _ := os.ReadFile(path)
	return string(raw)
}

// TestARunIsToldItsFenceOnce checks a run with two calls, each of which opens a workspace. Only the
// first call emits an event that describes the confinement.
func TestARunIsToldItsFenceOnce(t *testing.T) {
	dir, data := layout(t, "data")
	s := openScratch(t)
	for _, c := range []struct {
		o    WorkspaceOptions
		want string
	}{{WorkspaceOptions{DataDir: data, Scratch: s}, "tool.confined"}, {WorkspaceOptions{DataDir: data, Scratch: s, Confine: ConfineOff}, "tool.unconfined"}} {
		var events []Event
		for range 2 { // each call opens its own workspace
			w := openDir(t, dir, c.o)
			w.ForRun(c.want)
			call := callOf(t, w, args{"command": "true"})
			call.Emit = func(data any) { events = append(events, data.(Event)) }
			run(t, "bash", call)
		}
		if len(events) != 1 || events[0].Type != c.want || events[0].Fence == "" {
			t.Errorf("the events are %+v, want one of %s", events, c.want)
		}
	}
}

// TestRequiredConfinement checks that with ConfineRequire, OpenWorkspace returns an error if
// commands cannot be confined.
func TestRequiredConfinement(t *testing.T) {
	w := openWorkspace(t, WorkspaceOptions{Confine: ConfineRequire})
	if w.Confinement() == "none" {
		t.Error("it is not confined")
	}
	confine.Ready.Store(false)
	defer confine.Ready.Store(true)
	t.Setenv("PATH", t.TempDir())
	for name, o := range map[string]WorkspaceOptions{"require": {Confine: ConfineRequire}, "unconfined": {Confine: ConfineRequire, Unconfined: true}, "unknown": {Confine: "maybe"}} {
		if _, err := OpenWorkspace(t.TempDir(), "", o); err == nil || !strings.Contains(err.Error(), "confine") {
			t.Errorf("%s: err = %v", name, err)
		}
	}
	if _, err := OpenWorkspace(t.TempDir(), "", WorkspaceOptions{Confine: ConfineAuto}); err != nil {
		t.Error(err)
	}
}
