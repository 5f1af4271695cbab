package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/internal/longtest"
)

// ordinary is the id of a user without privileges. Tests of permissions run perdure as this user.
const ordinary = 65534

// runOrdinary runs perdure as a user without privileges, and returns the exit code and the output. It runs
// the copy of the program in dir, because that user may not enter the folder of the test's own program.
func runOrdinary(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, "perdure"), args...)
	cmd.Dir, cmd.Env = dir, clean(dir)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // the exit code is returned
	return cmd.ProcessState.ExitCode(), out.String()
}

// ordinaryDir returns a folder that a user without privileges may use, with a copy of perdure.
func ordinaryDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program, err := exec.LookPath("perdure")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "perdure"), raw, 0o755); err != nil { // executable by the user
		t.Fatal(err)
	}
	for folder := dir; folder != os.TempDir() && folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if err := os.Chmod(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestUnusablePathsAreNamed runs commands as a user without privileges, with files and folders that this
// user cannot use. The error must name the file or folder, the reason, and what to do.
func TestUnusablePathsAreNamed(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir := ordinaryDir(t)
	write(t, dir, "s", "turn\n  text hi\n")
	write(t, dir, "file", "")
	write(t, dir, "secret", "x")
	data := filepath.Join(dir, "d")
	if code, out := runOrdinary(t, dir, "run", "--model", "scripted/s", "--scripts", dir, "hi"); code == setup.ExitUsage {
		t.Fatalf("code %d: %s", code, out)
	}
	mode := func(m os.FileMode, path ...string) {
		t.Helper()
		if err := os.Chmod(filepath.Join(append([]string{dir}, path...)...), m); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(wants []string, args ...string) {
		t.Helper()
		code, out := runOrdinary(t, dir, args...)
		if code != setup.ExitUsage || strings.Contains(out, "(14)") {
			t.Errorf("perdure %s: code %d, %s", strings.Join(args, " "), code, out)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("perdure %s does not say %q: %s", strings.Join(args, " "), want, out)
			}
		}
	}
	mode(0, "secret")
	mode(0, "d")
	other := "--data DIR or PERDURE_DATA names another data directory"
	denied := []string{"permission denied", data + " has the mode d---------", other}
	for _, command := range []string{"runs", "show last", "keys list", "run --model scripted/s hi", "dev --addr 127.0.0.1:0", "server --addr 127.0.0.1:0"} {
		refused(denied, strings.Fields(command)...)
	}
	mode(0o700, "d")
	mode(0, "d", "perdure.db")
	refused([]string{"open " + filepath.Join(data, "perdure.db") + ": permission denied", "has the mode ----------", other}, "runs")
	mode(0o600, "d", "perdure.db")
	mode(0o500, "d")
	refused([]string{"write " + data + ": permission denied", data + " has the mode dr-x------", other}, "runs")
	mode(0o700, "d")
	mode(0, "d", "worker")
	refused([]string{filepath.Join(data, "worker") + " has the mode d---------", other}, "run", "--model", "scripted/s", "hi")
	mode(0o700, "d", "worker")

	file := filepath.Join(dir, "file")
	for _, command := range []string{"runs", "run --model scripted/s hi"} {
		for _, path := range []string{file, filepath.Join(file, "below")} {
			refused([]string{"not a directory", file + " is a file, so it cannot be used as a folder"}, append(strings.Fields(command), "--data", path)...)
		}
	}
	secret := filepath.Join(dir, "secret")
	for _, command := range []string{
		"worker --server x:1 --tls-ca secret", "worker --server x:1 --tls-cert secret --tls-key secret", "server --addr 127.0.0.1:0 --tls-cert secret --tls-key secret",
		"run --model-table secret --model scripted/s hi", "definitions create -f secret", "store restore secret", "store check secret",
	} {
		refused([]string{"secret: permission denied", secret + " has the mode ----------"}, strings.Fields(command)...)
	}
	for _, command := range []string{"worker --server x:1 --tls-ca none", "run --model-table none --model scripted/s hi", "definitions create -f none"} {
		refused([]string{"none: no such file", "give a file that exists"}, strings.Fields(command)...)
	}
	if err := os.Mkdir(filepath.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	refused([]string{"the workspace folder cannot be used", filepath.Join(dir, "closed") + " has the mode d---------"}, "run", "--model", "scripted/s", "--workspace", "closed", "hi")
	refused([]string{"cannot write ", filepath.Join(dir, "closed") + " has the mode d---------"}, "store", "backup", "closed/b")
}
