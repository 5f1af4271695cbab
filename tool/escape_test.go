package tool

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// outsideFile returns a workspace and the path of a folder outside it. That folder contains a file
// named "secret".
func outsideFile(t *testing.T) (w *Workspace, outside string) {
	t.Helper()
	outside = t.TempDir()
	put(t, filepath.Join(outside, "secret"), "top secret")
	return plainWorkspace(t, "sub/secret", "inside"), outside
}

// TestRenameRacesLeadNowhere checks that file tools do not leave the workspace while a folder is
// repeatedly exchanged for a symlink.
func TestRenameRacesLeadNowhere(t *testing.T) {
	w, outside := outsideFile(t)
	at := func(name string) string { return filepath.Join(w.Dir(), name) }
	if err := os.Symlink(outside, at("link")); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	defer group.Wait()
	defer close(stop)
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, pair := range [][2]string{{"sub", "aside"}, {"link", "sub"}, {"sub", "link"}, {"aside", "sub"}} {
				_ = os.Rename(at(pair[0]), at(pair[1])) // the next round corrects a failed rename
			}
		}
	})
	for range 12 {
		for _, c := range append(callsAt(t, "sub/secret"), callsAt(t, "sub")...) {
			if r := use(t, w, c.tool, c.args); strings.Contains(r.PlainText(), "top secret") {
				t.Fatalf("%s leaks: %s", c.tool, r.PlainText())
			}
		}
	}
	if got := content(t, filepath.Join(outside, "secret")); got != "top secret" {
		t.Errorf("the file outside is now %q", got)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("something was made outside: %v, %v", entries, err)
	}
}

// TestProcIsOutside checks that file tools cannot read the process's own files under /proc, by path
// or by symlink.
func TestProcIsOutside(t *testing.T) {
	w, outside := outsideFile(t)
	t.Setenv("CANARY_API_KEY", "top secret")
	for link, to := range map[string]string{"self": "/proc/self", "root": "/proc/self/root", "fd": "/proc/self/fd", "env": "/proc/self/environ", "chain": "root", "dev": "/dev/fd"} {
		if err := os.Symlink(to, filepath.Join(w.Dir(), link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"/proc/self/environ", "self/environ", "env", "root" + outside + "/secret", "chain" + outside + "/secret", "fd/0", "dev/0",
	} {
		wantRefused(t, w, path, "top secret")
	}
}

// TestPatternsLeadNowhere checks that find and grep find only files in the workspace, whatever the
// pattern is.
func TestPatternsLeadNowhere(t *testing.T) {
	w, outside := outsideFile(t)
	if err := os.Symlink(outside, filepath.Join(w.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	base := filepath.Base(outside)
	for _, pattern := range []string{"../**", "../" + base + "/*", "sub/../../" + base + "/secret", outside + "/*", "link/*", "link/**", "{..,sub}/*", "**/../../**", "[.][.]/*", "./../**"} {
		for _, c := range callsWithGlob(t, pattern) {
			r := use(t, w, c.tool, c.args)
			if text := r.PlainText(); strings.Contains(text, "top secret") || strings.Contains(text, outside+"/secret\n") || strings.Contains(text, "link/secret") {
				t.Errorf("%s by %s finds %s", c.tool, pattern, text)
			}
		}
	}
}

// TestWritingLeavesOtherNamesOfAFileAlone checks a file in the workspace that is a hard link to a
// file outside the workspace. A write replaces the link with a new file and leaves the file outside
// the workspace unchanged.
func TestWritingLeavesOtherNamesOfAFileAlone(t *testing.T) {
	w, outside := outsideFile(t)
	if err := os.Link(filepath.Join(outside, "secret"), filepath.Join(w.Dir(), "hard")); err != nil {
		t.Fatal(err)
	}
	wantOK(t, use(t, w, "write-file", args{"path": "hard", "content": "overwritten"}))
	if got := content(t, filepath.Join(outside, "secret")); got != "top secret" {
		t.Errorf("the file outside is now %q", got)
	}
	if err := os.Remove(filepath.Join(w.Dir(), "hard")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(outside, "secret"), filepath.Join(w.Dir(), "hard")); err != nil {
		t.Fatal(err)
	}
	wantOK(t, use(t, w, "edit-file", args{"path": "hard", "oldString": "top", "newString": "no"}))
	if got := content(t, filepath.Join(outside, "secret")); got != "top secret" {
		t.Errorf("the file outside is now %q", got)
	}
}
