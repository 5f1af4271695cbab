package tool

import (
	"os"
	"path/filepath"
	"testing"
)

// TestBubblewrapIsNotTakenFromTheWorkspace checks that a program named bwrap in the workspace is
// not used. The first folder in PATH is in the workspace and contains the program. The second
// folder contains a symlink to it.
func TestBubblewrapIsNotTakenFromTheWorkspace(t *testing.T) {
	dir, data := layout(t, "data")
	folder, link := filepath.Join(dir, "bin"), filepath.Join(filepath.Dir(dir), "beside")
	ran := filepath.Join(data, "ran")
	program := filepath.Join(folder, "bwrap")
	put(t, program, "#!/bin/sh\ntouch "+ran+"\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(link, "bwrap")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+link+":"+os.Getenv("PATH"))
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		wantOK(t, sh(t, w, "cat sub/a.txt"), "hello")
		wantMissing(t, ran)
	})
}
