package setup

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// TestRemediesOfFileErrors checks the advice for errors that a test cannot cause, for example those
// of a read-only file system and of a full disk.
func TestRemediesOfFileErrors(t *testing.T) {
	for reason, want := range map[syscall.Errno]string{
		syscall.EROFS:  "the file system of /data/x is read-only; mount it for writing, or use another folder",
		syscall.ENOSPC: "the disk or the quota of /data/x is full; free space, or use another folder",
		syscall.EDQUOT: "the disk or the quota of /data/x is full; free space, or use another folder",
		syscall.EIO:    "",
	} {
		err := fmt.Errorf("open: %w", &fs.PathError{Op: "open", Path: "/data/x", Err: reason})
		if got := fileRemedy(err); got != want {
			t.Errorf("the remedy of %v is %q, want %q", reason, got, want)
		}
	}
	if got := fileRemedy(syscall.EROFS); got != "" {
		t.Errorf("the remedy of an error without a path is %q", got)
	}
	a := &App{data: "/data"}
	for path, about := range map[string]bool{"/data/x": true, "/": true, "/database": false} {
		hint := a.pathHint(&fs.PathError{Op: "open", Path: path, Err: syscall.EROFS})
		if got := strings.Contains(hint, "--data"); got != about {
			t.Errorf("the hint for %s is %q", path, hint)
		}
	}
}
