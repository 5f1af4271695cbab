package tool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/sandbox"
)

func wantMissing(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%s is there: %v", path, err)
	}
}

// TestOtherProcessesAreNotTraced checks that a command cannot trace another process of its user,
// and cannot read or write the memory of that process.
func TestOtherProcessesAreNotTraced(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	victim := func() *exec.Cmd {
		cmd := exec.Command("sleep", "68")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	ways := []string{"ptrace-seize", "ptrace-attach", "vm-readv", "proc-mem"}
	for _, how := range ways {
		pid := fmt.Sprint(victim().Process.Pid)
		if out, err := exec.Command(program, attackMark, how, pid).CombinedOutput(); err != nil {
			t.Errorf("unfenced, %s fails, so it proves nothing: %s", how, out)
		}
	}
	other := victim()
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		for _, pid := range []int{other.Process.Pid, os.Getpid(), 1} {
			for _, how := range ways {
				if pid == 1 && w.box.Method == sandbox.ByBwrap {
					continue // this is bubblewrap itself, and the command has all its rights
				}
				r := sh(t, w, fmt.Sprintf("%s %s %s %d", program, attackMark, how, pid))
				wantError(t, r, "failed: ")
			}
		}
	})
	if !alive(other.Process.Pid) {
		t.Error("the other process is gone")
	}
}

// TestWhatACommandLeavesDiesWithTheCall checks confinement with a PID namespace or bubblewrap.
// Processes that have left the session of a command are killed when the call ends.
func TestWhatACommandLeavesDiesWithTheCall(t *testing.T) {
	dir, data := layout(t, "data")
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		if !w.box.Pids && w.box.Method != sandbox.ByBwrap {
			return // docs/security.md documents that this confinement does not kill them
		}
		wantOK(t, sh(t, w, "(setsid bash -c 'echo $BASHPID > left; exec sleep 69' > /dev/null 2>&1 < /dev/null &) ; until [ -s left ]; do :; done; rm left"))
		if out, _ := exec.Command("pgrep", "-f", "^sleep 69$").Output(); len(out) > 0 {
			t.Errorf("it lives on: %s", out)
		}
	})
}

// TestCommandEndIsReportedInEveryConfinement checks that the result of bash names the exit code of
// a command in every confinement. With Landlock, the result also names the signal that ended the
// command, even if the command was a child of the first process of a PID namespace.
func TestCommandEndIsReportedInEveryConfinement(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		wantError(t, sh(t, w, "exit 7"), "[exit code 7]")
		if w.box.Method == sandbox.ByLandlock {
			wantError(t, sh(t, w, "kill -TERM $$"), "[ended by signal: terminated]")
			wantError(t, sh(t, w, "kill -KILL $$"), "[ended by signal: killed]")
			wantOK(t, sh(t, w, "(read -t 0.3; echo late) & echo early"), "early", "late")
		}
		wantError(t, use(t, w, "bash", args{"command": "echo begun; sleep 70", "timeout": 1}), "begun", "timed out")
	})
}

// TestTerminalsOfOthersAreOutOfReach checks that commands cannot open terminals of the user's other
// programs.
func TestTerminalsOfOthersAreOutOfReach(t *testing.T) {
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	terminal := openTerminal(t)
	if out, err := exec.Command(program, attackMark, "write", terminal).CombinedOutput(); err != nil {
		t.Fatalf("unfenced, it fails: %s", out)
	}
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		if w.box.Mounts || w.box.Method == sandbox.ByBwrap || !strings.Contains(w.box.Note, "pseudo-terminals") {
			wantOK(t, sh(t, w, program+" "+attackMark+" terminal"), "reached") // own terminals work
		}
		wantError(t, sh(t, w, program+" "+attackMark+" write "+terminal), "failed: ")
	})
}

// TestNamedPipesOutsideAreNotWritten checks that commands under Landlock cannot open a named pipe
// outside the workspace for writing: a service might execute what it reads from the pipe. Under
// bubblewrap they can, as docs/security.md says.
func TestNamedPipesOutsideAreNotWritten(t *testing.T) {
	dir, data := layout(t, "data")
	program := attacker(t, dir)
	pipe := filepath.Join(filepath.Dir(dir), "beside", "pipe")
	open := openPipe(t, pipe)
	defer open()
	if out, err := exec.Command(program, attackMark, "write", pipe).CombinedOutput(); err != nil {
		t.Fatalf("unfenced, it fails: %s", out)
	}
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		r := sh(t, w, program+" "+attackMark+" write "+pipe)
		if w.box.Method == sandbox.ByLandlock && !r.IsError {
			t.Errorf("written: %s", r.PlainText())
		}
	})
}
