package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is the timeout of every wait.
const patience = 90 * time.Second

// command is a program with its arguments and environment.
type command struct {
	name string // name in the output of a failed test
	argv []string
	env  []string
	dir  string
	// log is the file that receives the program's output. If log is "", a failed test prints the
	// output.
	log string
}

// process is a program that runs or has ended.
type process struct {
	command
	t      *testing.T
	cmd    *exec.Cmd
	output *output
	ended  chan struct{}
	err    error // the error of the process; valid after ended is closed
}

// launch starts the command. At the end of the test it kills the process if it still runs, and logs
// its output if the test has failed.
func launch(t *testing.T, c command) *process {
	t.Helper()
	p := &process{command: c, t: t, output: newOutput(), ended: make(chan struct{})}
	p.cmd = exec.Command(c.argv[0], c.argv[1:]...)
	p.cmd.Env, p.cmd.Dir = c.env, c.dir
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if c.log != "" {
		file, err := os.OpenFile(c.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		both := io.MultiWriter(file, p.output)
		p.cmd.Stdout, p.cmd.Stderr = both, both
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		for _, bad := range []string{"WARNING: DATA RACE", "\npanic: ", "\nfatal error: ", "goroutine 1 ["} {
			if strings.Contains("\n"+p.output.String(), bad) {
				t.Errorf("%s wrote %q", c.name, bad)
			}
		}
		if t.Failed() && c.log == "" {
			t.Logf("%s (process %d, %v) wrote:\n%s", c.name, p.cmd.Process.Pid, p.err, p.output.tail(8000))
		}
	})
	return p
}

// kill ends the process with SIGKILL and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error means that the process has ended
	<-p.ended
}

// terminate sends SIGTERM to the process.
func (p *process) terminate() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // an error means that the process has ended
}

// exit waits for the process's end and returns its exit code, or -1 after a signal.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("%s did not end", p.name)
		return 0
	}
}

// says waits until the process has written the words, and returns the rest of that line.
func (p *process) says(words string) string {
	p.t.Helper()
	limit := time.After(patience)
	for {
		text, changed := p.output.look()
		if _, rest, found := strings.Cut(text, words); found && strings.Contains(rest, "\n") {
			line, _, _ := strings.Cut(rest, "\n")
			return strings.TrimSpace(line)
		}
		select {
		case <-changed:
		case <-p.ended:
			p.t.Fatalf("%s ended (%v) before it wrote %q", p.name, p.err, words)
		case <-limit:
			p.t.Fatalf("%s did not write %q", p.name, words)
		}
	}
}

// output collects what a process writes.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(p)
}

// look returns the output so far, and a channel that is closed when there is more.
func (o *output) look() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.changed
}

func (o *output) String() string {
	text, _ := o.look()
	return text
}

func (o *output) tail(most int) string {
	text := o.String()
	if len(text) > most {
		return fmt.Sprintf("[%d bytes left out]\n%s", len(text)-most, text[len(text)-most:])
	}
	return text
}

// freeAddress returns a loopback address on which nothing listens. A restart needs the same
// address, so the system cannot choose it each time. The port is below the range that systems use
// for outgoing connections, so that no such connection takes the port before the restart.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.N(20_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
}

// environment returns the minimal environment of a program, followed by the extra variables.
func environment(home string, extra ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8"}, extra...)
}

// eventually calls a function every few milliseconds until it returns true, and fails the test
// after the time `patience`.
func eventually(t *testing.T, what string, there func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !there() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}
