package tool

import (
	"os"
	"path/filepath"
	"testing"
)

// TestACacheThatIsGone checks that commands still run if a toolchain's cache was removed after the
// workspace was opened.
func TestACacheThatIsGone(t *testing.T) {
	dir, data := layout(t, "data")
	cache := filepath.Join(t.TempDir(), "cache")
	t.Setenv("PIP_CACHE_DIR", cache)
	eachConfinement(t, dir, data, func(t *testing.T, w *Workspace) {
		if err := os.RemoveAll(cache); err != nil {
			t.Fatal(err)
		}
		wantOK(t, sh(t, w, "echo fine"), "fine")
	})
}
