package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// workerVar is the environment variable that makes the test binary a worker that dies during a
// call. See TestProcessGroupDiesWithItsWorker.
const workerVar = "TOOL_TEST_WORKER"

func TestMain(m *testing.M) {
	MaybeSandboxChild()
	attackIfAsked()
	if dir := os.Getenv(workerVar); dir != "" {
		runDoomedWorker(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// openWorkspace opens a new folder with the given files. The parameter `files` alternates paths and
// contents.
func openWorkspace(t testing.TB, o WorkspaceOptions, files ...string) *Workspace {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		put(t, filepath.Join(dir, files[i]), files[i+1])
	}
	return openDir(t, dir, o)
}

func openDir(t testing.TB, dir string, o WorkspaceOptions) *Workspace {
	t.Helper()
	w, err := OpenWorkspace(dir, "", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// plainWorkspace opens a workspace whose bash is not confined.
func plainWorkspace(t testing.TB, files ...string) *Workspace {
	t.Helper()
	return openWorkspace(t, WorkspaceOptions{Unconfined: true}, files...)
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// args contains the arguments of a tool call. The map's keys are the names of the arguments.
type args map[string]any

func callOf(t testing.TB, w *Workspace, a args) *Call {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return &Call{Arguments: raw, Workspace: w}
}

// use calls a built-in tool and returns its result, which may be an error result.
func use(t testing.TB, w *Workspace, name string, a args) Result {
	t.Helper()
	return run(t, name, callOf(t, w, a))
}

func run(t testing.TB, name string, call *Call) Result {
	t.Helper()
	r, err := builtin(t, name).Run(context.Background(), call)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func builtin(t testing.TB, name string) Tool {
	t.Helper()
	set, err := Lookup([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := set.Get(name)
	return tool
}

func wantText(t testing.TB, r Result, isError bool, parts ...string) {
	t.Helper()
	if r.IsError != isError {
		t.Errorf("IsError = %v, want %v; the result is:\n%s", r.IsError, isError, r.PlainText())
	}
	for _, part := range parts {
		if !strings.Contains(r.PlainText(), part) {
			t.Errorf("the result does not contain %q:\n%s", part, r.PlainText())
		}
	}
}

func wantOK(t testing.TB, r Result, parts ...string) { t.Helper(); wantText(t, r, false, parts...) }

func wantError(t testing.TB, r Result, parts ...string) { t.Helper(); wantText(t, r, true, parts...) }

// runDoomedWorker is the worker in the test binary. It records process groups in dir and runs a
// command that prints its own pid and the pid of a grandchild.
func runDoomedWorker(dir string) {
	// In a PID namespace, the command would die with the worker even without a record, so the
	// worker's bash is not confined.
	w, err := OpenWorkspace(dir, "", WorkspaceOptions{Unconfined: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	call := &Call{
		Workspace: w,
		Record:    Recorder(filepath.Join(dir, "groups")),
		Stdout:    func(p []byte) { os.Stdout.Write(p) },
	}
	fmt.Println(runBash(context.Background(), call, bashArgs{Command: "sleep 64 & echo $$ $!; wait"}))
}
