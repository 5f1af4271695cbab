package tool

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/sandbox"
)

// homeLayout returns the workspace and the data directory of a worker with default settings. The
// workspace is the home directory, and the data directory is some levels below it.
func homeLayout(t *testing.T) (home, data string) {
	t.Helper()
	dir, _ := layout(t, "data")
	data = filepath.Join(dir, "local", "share", "perdure")
	put(t, filepath.Join(data, "token"), "top secret")
	return dir, data
}

// renameAway is a command that renames a folder above the data directory and puts an empty folder
// in its place. The path of the data directory then leads to an empty folder.
const renameAway = "mv local moved && mkdir -p local/share/perdure && ls moved"

// TestRenamedParentHidesNothingFromTheMask checks a command that renames a folder above the data
// directory. Neither this command nor the next one, which finds the data directory at a new path,
// can read the data directory.
func TestRenamedParentHidesNothingFromTheMask(t *testing.T) {
	longtest.Skip(t, "seconds")
	home, data := homeLayout(t)
	secret := filepath.Join("moved", "share", "perdure", "token")
	eachConfinement(t, home, data, func(t *testing.T, w *Workspace) {
		defer func() { // moves the folder back for the next confinement
			if _, err := os.Stat(filepath.Join(home, secret)); err == nil {
				os.RemoveAll(filepath.Join(home, "local"))
				os.Rename(filepath.Join(home, "moved"), filepath.Join(home, "local"))
			}
		}()
		box := w.box
		renamed := !sh(t, w, renameAway).IsError
		if _, err := os.Stat(filepath.Join(home, secret)); (err == nil) != renamed {
			t.Fatalf("renamed: %v, and the token: %v", renamed, err)
		}
		if w.box.Mounts != renamed && w.box.Method == sandbox.ByLandlock {
			t.Errorf("renamed: %v", renamed)
		}
		w = openDir(t, home, WorkspaceOptions{DataDir: data}) // like the next call
		w.box.Method, w.box.Mounts, w.box.Pids, w.box.Child = box.Method, box.Mounts, box.Pids, box.Child
		for _, command := range []string{"cat " + secret, "cat local/share/perdure/token", "grep -r 'top secret' .", "cd moved/share && cat perdure/token", "mv moved/share/perdure there && cat there/token"} {
			r := sh(t, w, command)
			wantError(t, r)
			if strings.Contains(r.PlainText(), "top secret") {
				t.Errorf("%s: %s", command, r.PlainText())
			}
		}
		for _, path := range []string{secret, "local/share/perdure/token"} {
			if r := use(t, w, "read-file", args{"path": path}); strings.Contains(r.PlainText(), "top secret") || !r.IsError {
				t.Errorf("read-file %s: %s", path, r.PlainText())
			}
		}
		wantText(t, use(t, w, "grep", args{"pattern": "top secret"}), false, "")
		if r := use(t, w, "grep", args{"pattern": "top secret"}); strings.Contains(r.PlainText(), "token") {
			t.Errorf("grep: %s", r.PlainText())
		}
	})
}

// TestRenamedDuringACallHidesNothingFromFileTools checks file tools after a folder above the data
// directory is renamed. Workspaces that were opened before and after the rename both refuse the
// data directory.
func TestRenamedDuringACallHidesNothingFromFileTools(t *testing.T) {
	home, data := homeLayout(t)
	w := openDir(t, home, WorkspaceOptions{DataDir: data})
	if err := os.Rename(filepath.Join(home, "local"), filepath.Join(home, "moved")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(home, "local", "share", "perdure", "x"), "harmless")
	wantError(t, use(t, w, "read-file", args{"path": "moved/share/perdure/token"}), errDataDir.Error())
	wantError(t, use(t, w, "write-file", args{"path": "moved/share/perdure/token", "content": "x"}), errDataDir.Error())
	if r := use(t, w, "grep", args{"pattern": "top secret"}); strings.Contains(r.PlainText(), "token") {
		t.Errorf("grep: %s", r.PlainText())
	}
	if r := use(t, w, "find", args{"pattern": "**/token"}); strings.Contains(r.PlainText(), "token\n") {
		t.Errorf("find: %s", r.PlainText())
	}
}

// mountedVar is the environment variable that marks a test process with its own mount namespace.
const mountedVar = "TOOL_TEST_MOUNTED"

// inMountNamespace runs the test with this name in a new process that may create mounts.
func inMountNamespace(t *testing.T, name string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run", "^"+name+"$")
	cmd.Env = append(os.Environ(), mountedVar+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+name) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestSecondMountsHideTheDataDirectory checks second mounts of the data directory, of a folder
// above it, and of a folder in it. None of them shows the content of the data directory.
func TestSecondMountsHideTheDataDirectory(t *testing.T) {
	longtest.Skip(t, "seconds")
	if os.Getenv(mountedVar) == "" {
		inMountNamespace(t, t.Name())
		return
	}
	home, data := homeLayout(t)
	put(t, filepath.Join(data, "inner", "key"), "top secret")
	bind := func(from, to string) {
		t.Helper()
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Unmount(to, syscall.MNT_DETACH) })
	}
	beside := filepath.Join(filepath.Dir(home), "beside")
	bind(data, filepath.Join(home, "same"))
	bind(home, filepath.Join(beside, "home"))
	bind(filepath.Join(data, "inner"), filepath.Join(home, "part"))
	paths := []string{"same/token", "same/inner/key", "part/key", filepath.Join(beside, "home/local/share/perdure/token"), data + "/token"}
	eachConfinement(t, home, data, func(t *testing.T, w *Workspace) {
		for _, path := range paths {
			if r := sh(t, w, "cat "+path); strings.Contains(r.PlainText(), "top secret") || !r.IsError {
				t.Errorf("cat %s: %s", path, r.PlainText())
			}
		}
		if r := sh(t, w, "cat "+filepath.Join(beside, "b.txt")); r.IsError {
			t.Errorf("what is beside cannot be read: %s", r.PlainText())
		}
	})
	w := openDir(t, home, WorkspaceOptions{DataDir: data})
	for _, path := range []string{"same/token", "same/inner/key", "part/key"} {
		wantRefused(t, w, path, "top secret")
		wantError(t, use(t, w, "read-file", args{"path": path}), errDataDir.Error())
	}
}
