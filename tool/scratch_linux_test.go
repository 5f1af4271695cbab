package tool

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func openScratch(t *testing.T) *Scratch {
	t.Helper()
	s, err := OpenScratch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// $TMPDIR belongs to a run. With mounts or bubblewrap, /tmp, /var/tmp, /run and /dev/shm belong to
// it, too. The run's next command sees the files there; another run and this process do not.
func TestTemporaryFoldersAreTheRunsOwn(t *testing.T) {
	dir, data := layout(t, "data")
	s := openScratch(t)
	outside, err := os.CreateTemp("/tmp", "perdure-outside-")
	if err != nil {
		t.Fatal(err)
	}
	outside.Close()
	t.Cleanup(func() { os.Remove(outside.Name()) })
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		w.box.scratch = s
		places := []string{"$TMPDIR"}
		if w.box.mounts || w.box.method == byBwrap {
			places = append(places, "/tmp", "/var/tmp", "/run", "/dev/shm")
		}
		for _, place := range places {
			w.ForRun("one" + t.Name())
			wantOK(t, sh(t, w, "echo mine > "+place+"/perdure-left"))
			wantOK(t, sh(t, w, "cat "+place+"/perdure-left"), "mine")
			w.ForRun("two" + t.Name())
			wantError(t, sh(t, w, "cat "+place+"/perdure-left"))
			if _, err := os.Stat(filepath.Join(place, "perdure-left")); err == nil {
				t.Errorf("%s/perdure-left is there for everybody", place)
			}
		}
		wantError(t, sh(t, w, "cat "+outside.Name()))
		if len(places) == 1 {
			for _, place := range privatePaths {
				wantError(t, sh(t, w, "echo x > "+place+"/perdure-left"))
			}
		}
	})
}

func TestTemporaryFoldersEndWithTheRun(t *testing.T) {
	s := openScratch(t)
	now := time.Now()
	s.now = func() time.Time { return now }
	take := func(s *Scratch, run string) (string, func()) {
		t.Helper()
		f, err := s.take(run)
		if err != nil {
			t.Fatal(err)
		}
		return f.dir, f.release
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
	now = now.Add(scratchIdle + time.Second)
	_, release = take(s, "b")
	release()
	gone(idle, true)

	call, release := take(nil, "")
	release()
	gone(call, true)
}

// OpenScratch removes the folders of a process that was killed, and keeps the folders of a running
// process.
func TestTemporaryFoldersOfDeadProcessesAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	living := openScratch(t)
	dead, err := os.MkdirTemp(os.TempDir(), scratchPrefix)
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dead, "run-1", "x"), "left")
	openScratch(t)
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("%s is still there", dead)
	}
	if _, err := os.Stat(living.dir); err != nil {
		t.Error(err)
	}
}
