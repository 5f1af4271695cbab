// Package e2e runs the real program against aimock, a mock of the model providers, and kills it at
// random moments with SIGKILL.
//
// PERDURE_E2E_SEED chooses the moments. PERDURE_E2E_RACE=1 builds the program with the race
// detector.
package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// scratch is the folder with the compiled program, which all tests of this package use.
var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "perdure-e2e-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(scratch) // remaining files are in the system's temporary folder
		os.Exit(code)
	}))
}

// program builds the real program once, and returns its path.
func program(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var build = sync.OnceValues(func() (string, error) {
	if err := lookAtSources(); err != nil {
		return "", err
	}
	return buildAs("perdure")
})

// buildAs builds the program under a name, with additional flags, and without cgo like the released
// program, unless it is built with the race detector.
func buildAs(name string, flags ...string) (string, error) {
	path := filepath.Join(scratch, name)
	args, cgo := append([]string{"build", "-o", path}, flags...), "0"
	if os.Getenv("PERDURE_E2E_RACE") == "1" {
		args, cgo = append(args, "-race"), "1"
	}
	cmd := exec.Command("go", append(args, "../cmd/perdure")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// lookAtSources lists the folders of the program's source, so that a changed source runs the tests
// again. The command go test reuses the result of a passed test until a folder that the test has
// read changes. The command does not notice which files go build reads.
func lookAtSources() error {
	return filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		return err
	})
}
