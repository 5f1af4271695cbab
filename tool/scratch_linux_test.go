package tool

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/sandbox"
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

// TestTemporaryFoldersAreTheRunsOwn checks that the folder $TMPDIR belongs to a run. In a mount
// namespace of its own, or under bubblewrap, a command also sees the run's own /tmp, /var/tmp, /run
// and /dev/shm. The run's next command sees the files there; another run and this process do not.
func TestTemporaryFoldersAreTheRunsOwn(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	s := openScratch(t)
	outside, err := os.CreateTemp("/tmp", "perdure-outside-")
	if err != nil {
		t.Fatal(err)
	}
	outside.Close()
	t.Cleanup(func() { os.Remove(outside.Name()) })
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		w.box.Scratch = s.opened()
		places := []string{"$TMPDIR"}
		if w.box.Mounts || w.box.Method == sandbox.ByBwrap {
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
			for _, place := range sandbox.PrivatePaths {
				wantError(t, sh(t, w, "echo x > "+place+"/perdure-left"))
			}
		}
	})
}
