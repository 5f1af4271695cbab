package tool

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/sandbox"
)

// TestAttributesOutsideAreNotChanged checks commands under bubblewrap or in a mount namespace of
// their own. They cannot change mode, owner or times of files outside the workspace. They can
// change these attributes in the workspace, in the temporary folders and in caches.
func TestAttributesOutsideAreNotChanged(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, place := range []string{"data", "ws/data"} {
		t.Run(place, func(t *testing.T) {
			dir, data := layout(t, place)
			beside := filepath.Join(filepath.Dir(dir), "beside")
			file := filepath.Join(beside, "b.txt")
			then := time.Unix(1e9, 0)
			eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
				if err := os.Chtimes(file, then, then); err != nil {
					t.Fatal(err)
				}
				r := sh(t, w, "chmod 4777 "+file+"; chmod 777 "+beside+"; touch -d 2020-01-01 "+file+"; chmod 700 "+filepath.Dir(dir)+"; chmod 755 /etc; echo tried")
				info, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				changed := info.Mode().Perm() != 0o644 || info.Mode()&os.ModeSetuid != 0 || !info.ModTime().Equal(then)
				open := w.box.Method == sandbox.ByLandlock && !w.box.Mounts
				if changed != open {
					t.Errorf("changed = %v: %s", changed, r.PlainText())
				}
				for path, mode := range map[string]os.FileMode{file: 0o644, beside: 0o755, filepath.Dir(dir): 0o755} {
					if err := os.Chmod(path, mode); err != nil {
						t.Fatal(err)
					}
				}
				if open {
					return // the users of caches create them
				}
				wantOK(t, sh(t, w, `set -e; for d in . "$TMPDIR" "${GOCACHE:-$HOME/.cache}"; do f=$(mktemp -p "$d"); chmod 700 $f; touch -d 2020-01-01 $f; ln $f $f.2; rm $f $f.2; done; echo fine`), "fine")
			})
		})
	}
}
