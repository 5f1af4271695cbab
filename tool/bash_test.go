package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/longtest"
)

func sh(t testing.TB, w *Workspace, command string) Result {
	t.Helper()
	return use(t, w, "bash", args{"command": command})
}

func TestBashAnswersOutputAndExitCode(t *testing.T) {
	w := plainWorkspace(t, "a.txt", "hello\n")
	wantOK(t, sh(t, w, "cat a.txt; pwd"), "hello\n"+w.Dir()+"\n[exit code 0]")
	wantError(t, sh(t, w, "echo oops >&2; exit 3"), "oops\n[exit code 3]")
	wantOK(t, sh(t, w, "true"), "(no output)\n[exit code 0]")
	wantError(t, sh(t, w, "kill -KILL $$"), "[ended by signal: killed]")
	wantOK(t, sh(t, w, "cat; echo stdin is empty"), "stdin is empty")
	wantError(t, sh(t, w, "cat < /dev/tty"), "/dev/tty")
	wantError(t, sh(t, w, "echo a\x00b"), "NUL")
	wantError(t, sh(t, w, "#"+strings.Repeat("x", 200_000)), "too long")
}

func TestBashStreamsLiveAndInOrder(t *testing.T) {
	w := plainWorkspace(t)
	call := callOf(t, w, args{"command": "for i in 1 2 3; do echo out $i; echo err $i >&2; done; printf 'caf\\303'; printf '\\251 \\377'"})
	var out, errs strings.Builder
	var inside atomic.Int32
	collect := func(b *strings.Builder) func([]byte) {
		return func(p []byte) {
			if inside.Add(1) != 1 {
				t.Error("two callbacks at once")
			}
			b.Write(p)
			inside.Add(-1)
		}
	}
	call.Stdout, call.Stderr = collect(&out), collect(&errs)
	wantOK(t, run(t, "bash", call), "out 3", "err 3", "café \uFFFD")
	if got, want := out.String(), "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\ncafé \uFFFD"; got != want {
		t.Errorf("stdout = %q, want %q", got, want)
	}
	if errs.Len() > 0 {
		t.Errorf("stderr = %q, want all in stdout", errs.String())
	}
}

// TestBashKeepsTheOrderOfBothStreams checks that the result contains the lines of stdout and stderr
// in the order in which the command wrote them.
func TestBashKeepsTheOrderOfBothStreams(t *testing.T) {
	w := plainWorkspace(t)
	var want strings.Builder
	for i := range 500 {
		fmt.Fprintf(&want, "out %d\nerr %d\n", i, i)
	}
	var live strings.Builder
	call := callOf(t, w, args{"command": "for ((i = 0; i < 500; i++)); do echo out $i; echo err $i >&2; done"})
	call.Stdout = func(p []byte) { live.Write(p) }
	wantOK(t, run(t, "bash", call), want.String())
	if live.String() != want.String() {
		t.Errorf("shown as it came:\n%s", live.String())
	}
}

// TestBuiltinToolsWithoutAWorkspace checks that a call of a built-in tool without a workspace
// returns a result that says so.
func TestBuiltinToolsWithoutAWorkspace(t *testing.T) {
	for _, b := range Builtin() {
		result, err := b.Run(t.Context(), &Call{Arguments: []byte(`{}`)})
		if err != nil || !result.IsError || !strings.Contains(result.PlainText(), "no workspace is configured") {
			t.Errorf("%s answers %q, %v", b.Name, result.PlainText(), err)
		}
	}
}

func TestBashKeepsHeadAndTailOfLongOutput(t *testing.T) {
	w := plainWorkspace(t)
	r := sh(t, w, "seq 1 100000")
	wantOK(t, r, "1\n2\n3\n", "bytes left out", "\n99999\n100000\n[exit code 0]")
	if n := len(r.PlainText()); n > bashOutput+200 {
		t.Errorf("the answer has %d bytes", n)
	}
}

// TestOutputTailSurvivesTheEndOfTheCommand checks that no output is lost if the command ends while
// all its output is still in the pipe.
func TestOutputTailSurvivesTheEndOfTheCommand(t *testing.T) {
	w := plainWorkspace(t)
	call := callOf(t, w, args{"command": "echo begin; head -c 60000 /dev/zero | tr '\\0' x; echo the end"})
	leader := make(chan int, 1)
	call.Record = func(pgid int) func() { leader <- pgid; return func() {} }
	live := 0
	call.Stdout = func(p []byte) {
		if live == 0 {
			awaitGone(t, <-leader)
		}
		live += len(p)
	}
	wantOK(t, run(t, "bash", call), "begin\n", "xxx", "the end\n[exit code 0]")
	if want := len("begin\n") + 60000 + len("the end\n"); live != want {
		t.Errorf("%d bytes came live, want %d", live, want)
	}
}

func TestOutputLargerThanAPipe(t *testing.T) {
	w := plainWorkspace(t)
	call := callOf(t, w, args{"command": "head -c 3000000 /dev/zero | tr '\\0' x; echo the end"})
	live := 0
	call.Stdout = func(p []byte) { live += len(p) }
	wantOK(t, run(t, "bash", call), "the end\n[exit code 0]")
	if want := 3000000 + len("the end\n"); live != want {
		t.Errorf("%d bytes came live, want %d", live, want)
	}
}

func TestEscapedWriterDoesNotHangTheTool(t *testing.T) {
	w := plainWorkspace(t)
	r := sh(t, w, "(setsid sleep 60 & echo $!)")
	defer syscall.Kill(firstPid(t, r), syscall.SIGKILL)
	wantOK(t, r, "[exit code 0]")
}

func TestGrandchildrenAreKilledWithTheCommand(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := plainWorkspace(t)
	for name, command := range map[string]string{
		"holds the pipe":    "sleep 60 & echo $!",
		"holds no pipe":     "sleep 60 >/dev/null 2>&1 & echo $!",
		"own process group": "set -m; sleep 60 >/dev/null 2>&1 & echo $!",
		"ignores hangup":    "nohup sleep 60 >/dev/null 2>&1 & disown; echo $!",
		"grandchild":        "(sh -c 'sleep 60 >/dev/null 2>&1 & echo $!')",
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			r := sh(t, w, command)
			wantOK(t, r, "[killed what was left in the background: processes: 1]", "[exit code 0]")
			wantGone(t, firstPid(t, r))
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("the tool hung for %v", took)
			}
		})
	}
}

func TestOutputOfTheBackgroundIsWaitedFor(t *testing.T) {
	w := plainWorkspace(t)
	wantOK(t, sh(t, w, "(sleep 0.3; echo late) & echo early"), "early\nlate\n[exit code 0]")
}

func TestBashTimeoutKillsTheWholeGroup(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := plainWorkspace(t)
	r := use(t, w, "bash", args{"command": "sleep 61 & echo $!; trap '' TERM; (trap '' TERM; while :; do sleep 0.1; done)", "timeout": 1})
	wantError(t, r, "[timed out after 1 s; the command was killed]")
	wantGone(t, firstPid(t, r))
}

func TestBashTimeoutLeavesTimeToCleanUp(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := plainWorkspace(t)
	r := use(t, w, "bash", args{"command": "trap 'echo cleaned up; exit' TERM; sleep 62 & wait", "timeout": 1})
	wantError(t, r, "cleaned up\n[timed out after 1 s")
}

// TestCancelKillsChildProcesses checks that a cancel of the call also kills the child processes of
// the command.
func TestCancelKillsChildProcesses(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := plainWorkspace(t)
	for name, command := range map[string]string{
		"foreground":  "echo $$; sleep 63",
		"background":  "sleep 63 & echo $!; wait",
		"own session": "setsid sleep 63 & echo $!; wait",
		"own group":   "set -m; sleep 63 & echo $!; wait",
		"stopped":     "sleep 63 & echo $!; kill -STOP $!; wait",
	} {
		t.Run(name, func(t *testing.T) {
			why := errors.New("the user cancelled")
			ctx, cancel := context.WithCancelCause(t.Context())
			call := callOf(t, w, args{"command": command})
			call.Stdout = func([]byte) { cancel(why) }
			r, err := builtin(t, "bash").Run(ctx, call)
			if !errors.Is(err, why) {
				t.Errorf("err = %v, want the cause", err)
			}
			wantError(t, r, "[cancelled; the command was killed]")
			wantGone(t, firstPid(t, r))
		})
	}
}

func firstPid(t *testing.T, r Result) int {
	t.Helper()
	line, _, _ := strings.Cut(r.PlainText(), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("the command did not say a pid: %s", r.PlainText())
	}
	return pid
}

// wantGone fails the test if the process pid runs.
func wantGone(t *testing.T, pid int) {
	t.Helper()
	if alive(pid) {
		t.Errorf("process %d is alive", pid)
	}
}

// awaitGone waits until the process pid has ended.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(30 * time.Second)
	for alive(pid) {
		select {
		case <-tick.C:
		case <-timeout:
			t.Errorf("process %d is still alive", pid)
			return
		}
	}
}

func TestBashSeesACleanEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "k1", "my_api_key": "k2", "PERDURE_TOKEN": "k3", "SECRET_THING": "k4",
		"DECLARED": "yes", "GOPATH": "/tmp/gopath", "LD_PRELOAD_NOT": "k5",
	} {
		t.Setenv(name, value)
	}
	w := openWorkspace(t, WorkspaceOptions{
		Unconfined: true,
		Env:        []string{"DECLARED", "NOT_SET", "ANTHROPIC_API_KEY", "my_api_key", "PERDURE_TOKEN"},
	})
	r := sh(t, w, "env")
	home, _ := os.UserHomeDir()
	wantOK(t, r, "DECLARED=yes\n", "GOPATH=/tmp/gopath\n", "TERM=dumb\n", "HOME="+home+"\n", "PATH=", "LANG=", "TMPDIR=")
	for _, secret := range []string{"API_KEY", "api_key", "PERDURE", "SECRET_THING", "LD_PRELOAD_NOT", "NOT_SET"} {
		if strings.Contains(r.PlainText(), secret) {
			t.Errorf("%s is in the environment:\n%s", secret, r.PlainText())
		}
	}
}

func TestBashRunsNothingOnceCancelled(t *testing.T) {
	w := plainWorkspace(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := builtin(t, "bash").Run(ctx, callOf(t, w, args{"command": "touch ran"}))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Stat(w.Dir() + "/ran"); !os.IsNotExist(err) {
		t.Error("the command ran")
	}
}
