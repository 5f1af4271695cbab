package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// TestSecretFoldersAreNotRead checks that commands cannot read a folder of secrets, such as another
// server's data directory. The folder may be beside the workspace or in it, and may contain other
// secrets.
func TestSecretFoldersAreNotRead(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, place := range []string{"other", "ws/other"} {
		t.Run(place, func(t *testing.T) {
			dir, data := layout(t, "data")
			folder := filepath.Join(filepath.Dir(dir), place)
			secret := secretFile(t, folder, "token")
			nested := secretFile(t, filepath.Join(folder, "inner"), "worker.key")
			link := filepath.Join(filepath.Dir(dir), "beside", "link")
			if err := os.Symlink(folder, link); err != nil {
				t.Fatal(err)
			}
			o := WorkspaceOptions{DataDir: data, Secrets: []string{nested, folder, filepath.Dir(nested), folder, link}}
			if w := openDir(t, dir, o); !w.box.Mounts {
				t.Errorf("the fence is without mounts: %s", w.ConfinementNote())
			}
			eachConfinementWith(t, dir, o, func(t *testing.T, w *Workspace) {
				for _, command := range append(secretReads(secret), "cat "+nested, "ls "+folder+" | grep -q token && echo handed secret") {
					if r := sh(t, w, command); strings.Contains(r.PlainText(), "handed secret") {
						t.Errorf("%s\n%s", command, r.PlainText())
					}
				}
				wantOK(t, sh(t, w, "cat sub/a.txt; rm -f copy hard moved link"), "hello")
				if got := content(t, secret); got != "handed secret" {
					t.Fatalf("the secret is %q", got)
				}
			})
			if place == "other" {
				return
			}
			w := openDir(t, dir, o)
			for _, path := range []string{"other/token", "other/inner/worker.key", "sub/../other/token"} {
				wantRefused(t, w, path, "handed secret")
				wantError(t, use(t, w, "read-file", args{"path": path}), errSecret.Error())
				wantError(t, use(t, w, "write-file", args{"path": path, "content": "x"}), errSecret.Error())
			}
			wantError(t, use(t, w, "write-file", args{"path": "other/new", "content": "x"}), errSecret.Error())
			if r := use(t, w, "grep", args{"pattern": "handed secret"}); strings.Contains(r.PlainText(), "token") {
				t.Errorf("grep: %s", r.PlainText())
			}
		})
	}
}

// TestAWorkspaceInAFolderOfSecretsIsRefused checks that a workspace inside a folder of secrets
// cannot be opened.
func TestAWorkspaceInAFolderOfSecretsIsRefused(t *testing.T) {
	dir, _ := layout(t, "data")
	if _, err := OpenWorkspace(dir, "sub", WorkspaceOptions{Secrets: []string{dir}}); err == nil || !strings.Contains(err.Error(), "holds secrets") {
		t.Errorf("err = %v", err)
	}
}
