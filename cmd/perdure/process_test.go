package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

const waiting = `turn
  text At the gate.
  call bash {"command": "echo here; read -r < gate; echo through"}
turn
  when interrupted
    text It was interrupted.
  else
    text It went through.
`

var runLine = regexp.MustCompile(`run ([0-9a-f-]{36})`)

func idIn(t *testing.T, line string) string {
	t.Helper()
	m := runLine.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("no id of a run in %q", line)
	}
	return m[1]
}

// TestInterruptAndResume checks that Ctrl-C leaves a run that can be continued, and that the interrupted
// command prints how to continue it. perdure resume then does not request the model's first answer again.
func TestInterruptAndResume(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "s", waiting)
	gate(t, dir, "gate")
	p := launch(t, dir, "run", "--model", "scripted/s", "go")
	id := idIn(t, p.until("run "))
	p.until("│ here")
	p.signal(syscall.SIGINT)
	p.wantEnd(130, "perdure resume "+id)

	out := launch(t, dir, "resume", id).wantEnd(0, "It was interrupted.", "2 calls")
	if strings.Contains(out, "At the gate.") {
		t.Errorf("what was said before the interrupt is said again:\n%s", out)
	}
}

// TestKillAndResumeElsewhere checks that a run whose process was killed continues in the folder in
// which it started, although perdure resume is called in another folder.
func TestKillAndResumeElsewhere(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", strings.Replace(waiting, "It was interrupted.", "Cut off.\n    call bash {\"command\": \"pwd\"}", 1)+"turn\n  text End.\n")
	gate(t, dir, "gate")
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	gate(t, work, "gate")
	p := launch(t, dir, "run", "--model", "scripted/s", "--workspace", "work", "go")
	p.until("│ here")
	p.signal(syscall.SIGKILL)
	p.end()
	launch(t, dir, "runs").wantEnd(0, "react-agent")
	launch(t, dir, "resume", "last").wantEnd(0, "│ "+work, "End.")
}

// TestRunBesideRun checks that two processes of perdure run can use one data directory. Both runs
// complete. The first process owns the directory, and does not exit until the run of the second
// process has ended.
func TestRunBesideRun(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", waiting)
	write(t, dir, "other", strings.ReplaceAll(waiting, "gate;", "other-gate;"))
	open, openOther := gate(t, dir, "gate"), gate(t, dir, "other-gate")
	first := launch(t, dir, "run", "--model", "scripted/s", "go")
	first.until("│ here")
	second := launch(t, dir, "run", "--model", "scripted/other", "go")
	second.until("│ here")
	open()
	first.until("run ")
	openOther()
	second.wantEnd(0, "It went through.")
	first.wantEnd(0, "It went through.")
}

// TestRunOutlivesTheOwner checks that the end of the process that owns the data directory does not end
// a concurrent run: the other process takes over the directory.
func TestRunOutlivesTheOwner(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", waiting)
	write(t, dir, "other", "turn\n  text Hello.\n  pause 300ms\n  text Still here.\n")
	gate(t, dir, "gate")
	first := launch(t, dir, "run", "--model", "scripted/s", "go")
	first.until("│ here")
	second := launch(t, dir, "run", "--model", "scripted/other", "--chat", "go")
	second.until("Hello.")
	first.signal(syscall.SIGKILL)
	first.end()
	second.wantEnd(4, "Still here.")
}

// TestToolOutlivesTheOwner checks that a command which a run is executing is not interrupted when
// the process that owns the data directory ends. The worker of the run's process continues the
// command.
func TestToolOutlivesTheOwner(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, end := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "interrupted": syscall.SIGINT} {
		for _, mode := range [][]string{nil, {"--local"}} {
			t.Run(fmt.Sprint(name, mode), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				write(t, dir, "s", waiting)
				write(t, dir, "other", strings.ReplaceAll(waiting, "gate;", "other-gate;"))
				gate(t, dir, "gate")
				open := gate(t, dir, "other-gate")
				first := launch(t, dir, "run", "--model", "scripted/s", "go")
				first.until("│ here")
				second := launch(t, dir, append([]string{"run", "--model", "scripted/other", "go"}, mode...)...)
				second.until("│ here")
				first.signal(end)
				first.end()
				launch(t, dir, "runs").wantEnd(0, "react-agent") // with the server of the second process
				open()
				second.wantEnd(0, "│ through", "It went through.")
			})
		}
	}
}

// TestRunBesideDev checks perdure run while perdure dev is serving the same data directory: the run becomes
// a client of dev, and works in a folder below dev's workspace.
func TestRunBesideDev(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", "turn\n  call bash {\"command\": \"pwd\"}\nturn\n  text Done.\n")
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	dev := launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0")
	base := openedAt(dev)
	dev.until("bash ")
	launch(t, dir, "run", "--model", "scripted/s", "--workspace", "sub", "go").wantEnd(0, "│ "+sub, "Done.")
	launch(t, dir, "run", "--model", "scripted/s", "--workspace", os.TempDir(), "go").wantEnd(2, "outside the workspace")
	launch(t, dir, "run", "--model", "nobody/s", "go").wantEnd(2, "there is no provider nobody")

	token := tokenOf(t, dir)
	launch(t, t.TempDir(), "--server", base, "--key", token, "runs", "--json").wantEnd(0, `"status": "COMPLETED"`)
	launch(t, t.TempDir(), "--server", base, "--key", "wrong", "runs").wantEnd(1, "--key")
	launch(t, dir, "dev", "--addr", "127.0.0.1:0").wantEnd(1, "owns the data directory")
	other := launch(t, dir, "dev", "--data", "other", "--addr", strings.TrimPrefix(base, "http://"), "--grpc-addr", "127.0.0.1:0")
	other.wantEnd(1, "is in use")
	dev.signal(syscall.SIGINT)
	dev.wantEnd(0)
}

// TestResumeBesideDev checks perdure resume while perdure dev is serving the same data directory:
// an unfinished run of perdure run, whose queue the worker of dev does not serve, continues with a
// worker that resume starts.
func TestResumeBesideDev(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", waiting)
	gate(t, dir, "gate")
	p := launch(t, dir, "run", "--model", "scripted/s", "go")
	id := idIn(t, p.until("run "))
	p.until("│ here")
	p.signal(syscall.SIGTERM)
	p.wantEnd(130)
	dev := launch(t, dir, "dev", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0", "--workspace", "..")
	dev.until("perdure resume " + id)
	launch(t, dir, "resume", id).wantEnd(0, "It was interrupted.")
	dev.signal(syscall.SIGTERM)
	dev.wantEnd(0)
}

func TestServerAndWorker(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := t.TempDir()
	write(t, dir, "s", waiting)
	gate(t, dir, "gate")
	launch(t, dir, "server", "--addr", "0.0.0.0:0").wantEnd(2, "no API key yet")
	server := launch(t, dir, "server", "--addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0")
	rpc := strings.Fields(server.until("workers"))[1]
	server.until("data")
	key := strings.TrimSpace(launch(t, dir, "keys", "create", "--role", "worker", "w").wantEnd(0))
	worker := launch(t, dir, "worker", "--server", rpc, "--key", key)
	worker.until("bash ")
	p := launch(t, dir, "run", "--model", "scripted/s", "go")
	p.until("│ here")
	launch(t, dir, "cancel", "last").wantEnd(0)
	p.wantEnd(3, "cancelled")
	worker.signal(syscall.SIGTERM)
	worker.wantEnd(0)
	launch(t, dir, "worker", "--server", rpc, "--key", "wrong").wantEnd(1)
	server.signal(syscall.SIGTERM)
	server.wantEnd(0)
}
