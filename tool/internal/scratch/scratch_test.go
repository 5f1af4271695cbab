package scratch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestTemporaryFoldersEndWithTheRun(t *testing.T) {
	s := open(t)
	now := time.Now()
	s.now = func() time.Time { return now }
	take := func(s *Store, run string) (string, func()) {
		t.Helper()
		f, err := s.Take(run)
		if err != nil {
			t.Fatal(err)
		}
		return f.Dir, f.Release
	}
	gone := func(dir string, want bool) {
		t.Helper()
		if _, err := os.Stat(dir); os.IsNotExist(err) != want {
			t.Errorf("%s: gone = %v, want %v", dir, !want, want)
		}
	}
	dir, release := take(s, "a")
	s.Drop("a")
	gone(dir, false) // a command still uses the folder
	release()
	gone(dir, true)

	idle, release := take(s, "idle")
	if err := os.MkdirAll(filepath.Join(idle, "closed", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(idle, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	release()
	now = now.Add(idleTime + time.Second)
	_, release = take(s, "b")
	release()
	gone(idle, true)

	call, release := take(nil, "")
	release()
	gone(call, true)
}

// TestTemporaryFoldersOfDeadProcessesAreSwept checks that Open removes the folders of a process
// that was killed, and keeps the folders of a running process.
func TestTemporaryFoldersOfDeadProcessesAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	living := open(t)
	dead, err := os.MkdirTemp(os.TempDir(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dead, "run-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	open(t)
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("%s is still there", dead)
	}
	if _, err := os.Stat(living.dir); err != nil {
		t.Error(err)
	}
}
