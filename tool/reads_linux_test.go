package tool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/sandbox"
)

// secretFile creates a file with a secret in the given folder.
func secretFile(t *testing.T, folder, name string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	put(t, path, "handed secret")
	return path
}

// secretReads returns commands that try to read the secret at path.
func secretReads(path string) []string {
	return []string{
		"cat " + path, "grep -r 'handed secret' " + filepath.Dir(path), "cp " + path + " copy && cat copy",
		"ln " + path + " hard && cat hard", "mv " + path + " moved && cat moved", "umount " + path + " && cat " + path,
		fmt.Sprintf("cat /proc/%d/root%s", os.Getpid(), path), "cat /proc/1/root" + path, "cat /proc/$PPID/root" + path,
		"unshare -Urm sh -c 'umount " + path + "; cat " + path + "'", "ln -s " + path + " link && cat link",
		"cat /proc/[0-9]*/cwd" + path, "ls -l /proc/1/fd/ /proc/$PPID/fd/ | grep worker.key && echo handed secret",
	}
}

// TestSecretFilesAreNotRead checks that commands cannot read a worker's secret file, whether it is
// beside the workspace or in it.
func TestSecretFilesAreNotRead(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, place := range []string{"etc", "ws/etc"} {
		t.Run(place, func(t *testing.T) {
			dir, data := layout(t, "data")
			secret := secretFile(t, filepath.Join(filepath.Dir(dir), place), "worker.key")
			wantOK(t, sh(t, openDir(t, dir, WorkspaceOptions{DataDir: data, Unconfined: true}), "cat "+secret), "handed secret")
			eachConfinementWith(t, dir, WorkspaceOptions{DataDir: data, Secrets: []string{secret}}, func(t *testing.T, w *Workspace) {
				for _, command := range secretReads(secret) {
					if r := sh(t, w, command); strings.Contains(r.PlainText(), "handed secret") {
						t.Errorf("%s\n%s", command, r.PlainText())
					}
				}
				wantOK(t, sh(t, w, "cat sub/a.txt; rm -f copy hard moved link"), "hello")
				if got := content(t, secret); got != "handed secret" {
					t.Fatalf("the secret is %q", got)
				}
			})
		})
	}
}

// TestRenamedSecretFilesStayHidden checks a secret file whose folder is renamed, after which
// another file is created at the old path of the secret file. Commands cannot read the secret, and
// file tools refuse both files.
func TestRenamedSecretFilesStayHidden(t *testing.T) {
	longtest.Skip(t, "seconds")
	dir, data := layout(t, "data")
	secret := secretFile(t, filepath.Join(dir, "etc"), "worker.key")
	o := WorkspaceOptions{DataDir: data, Secrets: []string{secret}}
	openDir(t, dir, o)
	if err := os.Rename(filepath.Join(dir, "etc"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	put(t, secret, "a bait")
	eachConfinementWith(t, dir, o, func(t *testing.T, w *Workspace) {
		for _, command := range []string{"cat away/worker.key", "cat etc/worker.key", "grep -r 'handed secret' ."} {
			if r := sh(t, w, command); strings.Contains(r.PlainText(), "handed secret\n") || strings.HasPrefix(r.PlainText(), "handed secret") {
				t.Errorf("%s\n%s", command, r.PlainText())
			}
		}
		for _, path := range []string{"away/worker.key", "etc/worker.key"} {
			wantRefused(t, w, path, "handed secret")
			wantError(t, use(t, w, "read-file", args{"path": path}), errSecret.Error())
			wantError(t, use(t, w, "write-file", args{"path": path, "content": "x"}), errSecret.Error())
		}
		if r := use(t, w, "grep", args{"pattern": "handed secret"}); strings.Contains(r.PlainText(), "worker.key") {
			t.Errorf("grep: %s", r.PlainText())
		}
	})
}

// TestFileToolsKnowASecretByAnotherName checks that file tools recognize a secret by its inode.
// They also refuse the secret under the name of a hard link.
func TestFileToolsKnowASecretByAnotherName(t *testing.T) {
	dir, data := layout(t, "data")
	secret := secretFile(t, filepath.Join(filepath.Dir(dir), "etc"), "worker.key")
	if err := os.Link(secret, filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	w := openDir(t, dir, WorkspaceOptions{DataDir: data, Secrets: []string{secret, filepath.Join(dir, "missing")}})
	wantError(t, use(t, w, "read-file", args{"path": "hard"}), errSecret.Error())
}

// TestCommandLinesOfOthersAreNotSeen checks that with a PID namespace or bubblewrap, commands
// cannot see the command lines of other processes, which may contain a key. If commands have a
// mount namespace but no PID namespace, a note says that they can see the command lines.
func TestCommandLinesOfOthersAreNotSeen(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read x", "--key", "key-on-a-command-line")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	dir, data := layout(t, "data")
	read := "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'key-on-a-command[-]line'"
	if out, err := exec.Command("bash", "-c", read).CombinedOutput(); err != nil {
		t.Fatalf("unfenced, it is not seen: %s", out)
	}
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		seen := !sh(t, w, read).IsError
		open := w.box.Method == sandbox.ByLandlock && !w.box.Pids
		if seen != open {
			t.Errorf("seen = %v", seen)
		}
		if open && (w.box.Mounts && !strings.Contains(w.box.Note, "command lines")) {
			t.Errorf("the note says nothing: %s", w.box.Note)
		}
	})
}

// TestHomesOfOthersAreNotRead checks that commands cannot read the homes of other users, but can
// read the user's own home.
func TestHomesOfOthersAreNotRead(t *testing.T) {
	longtest.Skip(t, "seconds")
	if os.Getenv(mountedVar) == "" {
		inMountNamespace(t, t.Name())
		return
	}
	_, data := layout(t, "data")
	if err := syscall.Mount("tmpfs", "/home", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount("/home", syscall.MNT_DETACH) })
	put(t, "/home/alice/notes", "of alice")
	put(t, "/home/me/notes", "of mine")
	put(t, "/home/me/ws/x", "work")
	t.Setenv("HOME", "/home/me")
	wantOK(t, sh(t, openDir(t, "/home/me/ws", WorkspaceOptions{DataDir: data, Unconfined: true}), "cat /home/alice/notes"), "of alice")
	eachConfinement(t, "/home/me/ws", data, func(t *testing.T, w *Workspace) {
		for _, command := range []string{"cat /home/alice/notes", "ls /home | grep alice", "cat /home/me/../alice/notes"} {
			if r := sh(t, w, command); !r.IsError || strings.Contains(r.PlainText(), "of alice") {
				t.Errorf("%s: %s", command, r.PlainText())
			}
		}
		wantOK(t, sh(t, w, "cat /home/me/notes x && echo y > made && cat made && rm made"), "of mine", "work")
	})
}
