package tool

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/sandbox"
	"github.com/perdure/perdure/tool/internal/confine"
)

// eachConfinement runs fn in a workspace under each confinement of bash that this machine supports.
// If the machine supports none, the test fails, because it would not test anything.
func eachConfinement(t *testing.T, dir, data string, fn func(t *testing.T, w *Workspace)) {
	t.Helper()
	eachConfinementWith(t, dir, WorkspaceOptions{DataDir: data}, fn)
}

// eachConfinementWith runs fn as eachConfinement does, in a workspace with the given options.
func eachConfinementWith(t *testing.T, dir string, o WorkspaceOptions, fn func(t *testing.T, w *Workspace)) {
	t.Helper()
	open := openDir(t, dir, o)
	if open.Confinement() == "none" {
		t.Fatalf("bash cannot be confined here: %s", open.ConfinementNote())
	}
	candidates, _ := confine.Available(open.box)
	tried := 0
	for _, c := range candidates {
		if err := confine.Probe(c); err != nil {
			t.Logf("%s, mounts %v, pids %v: %v", c.Method, c.Mounts, c.Pids, err)
			continue
		}
		tried++
		t.Run(fmt.Sprintf("%s mounts=%v pids=%v", c.Method, c.Mounts, c.Pids), func(t *testing.T) {
			w := openDir(t, dir, o)
			w.box = c
			w.box.Secrets = w.secrets
			fn(t, w)
		})
	}
	if tried == 0 {
		t.Error("none was tried")
	}
}

// layout returns the workspace and the data directory of a worker. The data directory is beside or
// inside the workspace. Neither is below a folder for temporary files, because commands may write
// in such a folder.
func layout(t *testing.T, dataBelow string) (dir, data string) {
	t.Helper()
	top, err := os.MkdirTemp(lasting(t), "_layout-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	if top, err = sandbox.RealPath(top); err != nil {
		t.Fatal(err)
	}
	dir, data = filepath.Join(top, "ws"), filepath.Join(top, dataBelow)
	put(t, filepath.Join(dir, "sub", "a.txt"), "hello")
	put(t, filepath.Join(top, "beside", "b.txt"), "readable")
	put(t, filepath.Join(data, "token"), "top secret")
	return dir, data
}

// lasting returns a folder that is not for temporary files. It is the package's folder or, if the
// checkout is in a temporary folder, the home directory.
func lasting(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv(lastingVar); dir != "" {
		return dir
	}
	here := mustWd(t)
	for _, temporary := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		if !strings.HasPrefix(here, temporary+"/") {
			continue
		}
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		return home
	}
	return here
}

func TestConfinedBashWorksInTheWorkspace(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, place := range []string{"data", "ws/data"} {
		t.Run(place, func(t *testing.T) {
			dir, data := layout(t, place)
			eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
				wantOK(t, sh(t, w, "cat sub/a.txt; echo new > sub/b.txt && mv sub/b.txt sub/c.txt && cat sub/c.txt; cat "+
					filepath.Join(dir, "..", "beside", "b.txt")), "hello", "new\n", "readable")
				wantOK(t, sh(t, w, "echo x > /dev/null; f=$(mktemp) && echo temporary > $f && cat $f && rm $f"), "temporary")
				wantOK(t, sh(t, w, "echo to stderr > /dev/stderr; (echo piped | cat)"), "to stderr", "piped")
				wantOK(t, sh(t, w, "exec 3<>/dev/tcp/"+listen(t)+" && echo connected"), "connected")
				wantError(t, sh(t, w, "exit 7"), "[exit code 7]")
				if place == "data" {
					wantOK(t, sh(t, w, "mkdir made && touch made/x made.txt && rm -r made made.txt && ls"), "sub")
				}
			})
		})
	}
}

// TestMaskLeavesTheWorkspaceWritable checks a data directory inside the workspace. An empty mount
// covers the data directory, and the rest of the workspace stays writable.
func TestMaskLeavesTheWorkspaceWritable(t *testing.T) {
	dir, data := layout(t, "ws/data")
	w := openDir(t, dir, WorkspaceOptions{DataDir: data})
	if !w.box.Mounts && w.box.Method == sandbox.ByLandlock {
		t.Fatalf("no mask: %s", w.ConfinementNote())
	}
	wantOK(t, sh(t, w, "mkdir made && echo ok > made/x && cat made/x && rm -r made && ls"), "ok", "sub")
	wantError(t, sh(t, w, "mv data elsewhere; rm -rf data; rmdir data"))
	if got := content(t, filepath.Join(data, "token")); got != "top secret" {
		t.Errorf("the token is %q", got)
	}
}

func TestConfinedBashCannotReachTheDataDirectory(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, place := range []string{"data", "ws/data", "ws/deep/down/data"} {
		t.Run(place, func(t *testing.T) {
			dir, data := layout(t, place)
			socket, err := filepath.Rel(mustWd(t), filepath.Join(data, "s"))
			if err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := os.Symlink(data, filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
				for _, command := range []string{
					"cat " + data + "/token", "cat link/token", "ls " + data + " | grep token", "grep -r 'top secret' " + data,
					"echo overwritten > " + data + "/token", "rm " + data + "/token", "touch " + data + "/new", ": > link/token",
					"truncate -s 0 " + data + "/token", "ln " + data + "/token sub/hard", "mv " + data + "/token sub/moved",
					"mv " + data + " sub/moved", "umount " + data + " && cat " + data + "/token",
					"cat /proc/$PPID/root" + data + "/token", fmt.Sprintf("cat /proc/%d/root%s/token", os.Getpid(), data),
					fmt.Sprintf("nsenter -t %d -m cat %s/token", os.Getpid(), data),
					"unshare -Urm sh -c 'umount " + data + "; cat " + data + "/token'",
				} {
					r := sh(t, w, command)
					wantError(t, r)
					if strings.Contains(r.PlainText(), "top secret") {
						t.Errorf("%s\n%s", command, r.PlainText())
					}
				}
				if w.box.Mounts {
					wantError(t, sh(t, w, "test -e "+data+"/s"), "[exit code 1]") // no socket exists there
				}
				if got := content(t, filepath.Join(data, "token")); got != "top secret" {
					t.Fatalf("the token is %q", got)
				}
				if entries, _ := os.ReadDir(data); len(entries) != 2 {
					t.Errorf("the data directory holds %v", entries)
				}
			})
		})
	}
}

func TestConfinedBashWritesNowhereElse(t *testing.T) {
	dir, data := layout(t, "data")
	top := filepath.Dir(dir)
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		for _, command := range []string{
			"echo x > " + top + "/beside/b.txt", "touch " + top + "/beside/new", "rm " + top + "/beside/b.txt",
			"touch " + top + "/new", "mv sub/a.txt " + top + "/beside/", "mknod sub/disk b 1 1", "touch /etc/perdure-test",
		} {
			wantError(t, sh(t, w, command))
		}
	})
	if got := content(t, filepath.Join(top, "beside", "b.txt")); got != "readable" {
		t.Errorf("the file beside is %q", got)
	}
}

func TestConfinedBashCannotReachOtherProcesses(t *testing.T) {
	longtest.Skip(t, "seconds")
	other := exec.Command("sleep", "66")
	other.Env = []string{"ANTHROPIC_API_KEY=sk-secret"}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	dir, data := layout(t, "data")
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		for _, command := range []string{"kill -9 %d", "kill -STOP %d", "tr '\\0' '\\n' < /proc/%d/environ", "cat /proc/%d/maps", "readlink /proc/%d/exe", "cat /proc/%d/fd/0"} {
			r := sh(t, w, fmt.Sprintf(command, other.Process.Pid))
			wantError(t, r)
			if strings.Contains(r.PlainText(), "sk-secret") {
				t.Errorf("%s: %s", command, r.PlainText())
			}
		}
		if !alive(other.Process.Pid) {
			t.Fatal("the other process was killed")
		}
	})
}

// TestConfinementThatFailsRunsNothing checks that bash returns an error, and the command does not
// run, if the data directory is replaced after the workspace is opened.
func TestConfinementThatFailsRunsNothing(t *testing.T) {
	dir, data := layout(t, "data")
	w := openDir(t, dir, WorkspaceOptions{DataDir: data})
	if w.box.Method != sandbox.ByLandlock {
		t.Fatalf("confined by %s", w.box.Method)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	put(t, data, "now a file")
	_, err := builtin(t, "bash").Run(t.Context(), callOf(t, w, args{"command": "touch ran"}))
	if err == nil || !strings.Contains(err.Error(), "the data directory has no path here") {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); !os.IsNotExist(err) {
		t.Error("the command ran")
	}
}

func TestUnconfinedSaysSo(t *testing.T) {
	w := plainWorkspace(t)
	if w.Confinement() != "none" || !strings.Contains(w.ConfinementNote(), "not confined") {
		t.Errorf("%q: %q", w.Confinement(), w.ConfinementNote())
	}
}

func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return strings.Replace(l.Addr().String(), ":", "/", 1)
}

func mustWd(t *testing.T) string {
	t.Helper()
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return wd
}
