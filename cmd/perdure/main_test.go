package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/postgres/postgrestest"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/tool"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	tool.MaybeSandboxChild()
	testscript.Main(tests{m}, map[string]func(){"perdure": main})
}

// tests is the testing.M of this package. Its method Run runs the tests within postgrestest.Main.
type tests struct{ *testing.M }

func (t tests) Run() int { return postgrestest.Main(t.M) }

// clean returns an environment for perdure without any settings of the user who runs the test.
func clean(dir string) []string {
	env := []string{"HOME=" + dir, "PERDURE_DATA=" + filepath.Join(dir, "d"), "TMPDIR=" + os.TempDir()}
	for _, name := range []string{"PATH", "GOCOVERDIR", "VISUAL"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, clean(e.WorkDir)...)
			e.Defer(func() { auditLeft(t, e.WorkDir) })
			return os.Mkdir(filepath.Join(e.WorkDir, "d"), 0o700)
		},
	})
}

// program is a process of perdure that a test has started.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Reader
	stderr bytes.Buffer
	read   strings.Builder // the text that was read from out
}

// auditLeft checks the invariants of the data that processes of perdure have left in the folder dir.
func auditLeft(t *testing.T, dir string) {
	left := filepath.Join(dir, "d", "perdure.db")
	if _, err := os.Stat(left); err != nil {
		return
	}
	opentest.File(t, left)
	_, err := server.CheckStore(context.WithoutCancel(t.Context()), left, func(server.CheckResult) {}, func(f server.CheckFinding) {
		t.Errorf("a check finds in run %s: %s", f.Execution, f.What)
	})
	if err != nil {
		t.Error(err)
	}
}

// audited has the folders whose data is checked with auditLeft at the end of a test.
var audited sync.Map

// launch starts perdure in the folder dir. At the end of the test, the invariants of the data in that
// folder are checked.
func launch(t *testing.T, dir string, args ...string) *program {
	t.Helper()
	return launchWith(t, dir, nil, args...)
}

// launchWith is like launch, with environment variables as NAME=value.
func launchWith(t *testing.T, dir string, env []string, args ...string) *program {
	t.Helper()
	if _, later := audited.LoadOrStore(dir, true); !later {
		t.Cleanup(func() { auditLeft(t, dir) }) // the first registered cleanup runs last
	}
	p := &program{t: t, cmd: exec.Command("perdure", args...)}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = dir, append(clean(dir), env...), &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // most programs have ended by then
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// until reads lines of the program's output until a line contains the text, and returns that line.
func (p *program) until(text string) string {
	p.t.Helper()
	for {
		line, err := p.out.ReadString('\n')
		p.read.WriteString(line)
		if strings.Contains(line, text) {
			return line
		}
		if err != nil {
			p.t.Fatalf("no line with %q in\n%s\n%s", text, p.read.String(), p.stderr.String())
		}
	}
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// end waits until the program has ended. It returns the exit code and all output of the program.
func (p *program) end() (code int, out string) {
	p.t.Helper()
	rest, err := io.ReadAll(p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	p.read.Write(rest)
	_ = p.cmd.Wait() // the code is in the process state
	return p.cmd.ProcessState.ExitCode(), p.read.String()
}

// wantEnd waits until the program has ended with the code and has printed the given texts. It returns the
// output.
func (p *program) wantEnd(code int, contains ...string) string {
	p.t.Helper()
	got, out := p.end()
	if got != code {
		p.t.Fatalf("exit code %d, want %d\n%s\n%s", got, code, out, p.stderr.String())
	}
	for _, text := range contains {
		if !strings.Contains(out+p.stderr.String(), text) {
			p.t.Errorf("no %q in\n%s\n%s", text, out, p.stderr.String())
		}
	}
	return out
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// gate creates a named pipe in the folder dir. A tool that reads the pipe waits until the returned
// function is called.
func gate(t *testing.T, dir, name string) (open func()) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
