//go:build kerneltest

package tool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/tool/internal/confine"
	"github.com/perdure/perdure/tool/internal/group"
)

// These tests need a control group that is delegated to their user and contains no other process.
// scripts/kernel-test.sh runs them.

func openGroups(t *testing.T) *ControlGroups {
	t.Helper()
	g, err := OpenControlGroups()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := filepath.Glob(filepath.Join(g.groups.Dir, "perdure-*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	return g
}

// eachBounded runs fn as eachConfinementWith does, with control groups. It also runs fn without
// confinement.
func eachBounded(t *testing.T, dir string, o WorkspaceOptions, fn func(t *testing.T, w *Workspace)) {
	o.Groups = openGroups(t)
	eachConfinementWith(t, dir, o, fn)
	o.Unconfined = true
	t.Run("none", func(t *testing.T) { fn(t, openDir(t, dir, o)) })
}

func TestKernelHoldsLimitsOfACommand(t *testing.T) {
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	o := WorkspaceOptions{DataDir: data, Limits: Limits{Processes: 40, Memory: 256 << 20}}
	eachBounded(t, dir, o, func(t *testing.T, w *Workspace) {
		wantError(t, use(t, w, "bash", args{"command": program + " " + attackMark + " eat 600", "timeout": 60}), "over a limit", "MiB of memory, and the limit is 256 MiB")
		wantError(t, use(t, w, "bash", args{"command": "for i in {1..80}; do sleep 71 & done; wait", "timeout": 60}), "over a limit", "processes, and the limit is 40")
	})
}

// TestKernelHoldsMemoryOfTheTree checks that the memory limit counts all processes of a command,
// including processes that run only briefly.
func TestKernelHoldsMemoryOfTheTree(t *testing.T) {
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	o := WorkspaceOptions{DataDir: data, Limits: Limits{Memory: 256 << 20}}
	eachBounded(t, dir, o, func(t *testing.T, w *Workspace) {
		eat := program + " " + attackMark + " eat 100"
		wantError(t, use(t, w, "bash", args{"command": "for i in 1 2 3 4; do setsid " + eat + " & done; wait", "timeout": 60}), "over a limit", "MiB of memory, and the limit is 256 MiB")
	})
}

// TestControlGroupEndsWhatLeavesTheSession checks that processes that left the session of the
// command are killed when the call ends, even without a PID namespace.
func TestControlGroupEndsWhatLeavesTheSession(t *testing.T) {
	dir, data := layout(t, "data")
	eachBounded(t, dir, WorkspaceOptions{DataDir: data}, func(t *testing.T, w *Workspace) {
		sh(t, w, "(setsid sh -c 'echo alive > left; exec sleep 7171' >/dev/null 2>&1 &); until [ -e left ]; do :; done; rm left")
		if out := sleepers(t, "7171"); out != "" {
			t.Errorf("alive: %s", out)
		}
	})
}

// sleepers returns the processes whose command line contains the text `word`.
func sleepers(t *testing.T, word string) string {
	t.Helper()
	var found []string
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if strings.Contains(string(line), word) {
			found = append(found, fmt.Sprintf("%s %q", file, line))
		}
	}
	return strings.Join(found, "; ")
}

// TestGroupsOfAnEarlierWorkerAreRemoved checks that OpenControlGroups removes the groups of a
// killed worker and kills their processes.
func TestGroupsOfAnEarlierWorkerAreRemoved(t *testing.T) {
	g, err := OpenControlGroups()
	if err != nil {
		t.Fatal(err)
	}
	c := g.groups.Take(group.Limits{}.Filled())
	if c == nil {
		t.Fatal("the command has no control group")
	}
	cmd := sleepIn(t, c, "7272")
	c.File.Close()
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	openGroups(t)
	if err := cmd.Wait(); err == nil {
		t.Error("the process ended by itself")
	}
	if _, err := os.Stat(c.File.Name()); !os.IsNotExist(err) {
		t.Errorf("%s: %v", c.File.Name(), err)
	}
}

func sleepIn(t *testing.T, c *group.Control, seconds string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", seconds)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(c.File.Fd())}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestARunIsToldOfItsControlGroups checks that an event of the run says that control groups enforce
// the limits of its commands.
func TestARunIsToldOfItsControlGroups(t *testing.T) {
	dir, data := layout(t, "data")
	w := openDir(t, dir, WorkspaceOptions{DataDir: data, Scratch: openScratch(t), Groups: openGroups(t)})
	w.ForRun("run")
	var last Event
	call := callOf(t, w, args{"command": "cat /proc/self/cgroup; grep -s . /sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)/*.max"})
	call.Emit = func(data any) { last = data.(Event) }
	wantOK(t, run(t, "bash", call), "0::", "perdure-call-")
	if last.Limits != confine.BoundByGroup {
		t.Errorf("the event is %+v", last)
	}
}
