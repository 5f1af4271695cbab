package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
)

// TestADatabaseIsOpenedOnceByWhateverName checks that a database that a server has open cannot be
// opened, or replaced by a restore, under another name. The server must continue to work.
func TestADatabaseIsOpenedOnceByWhateverName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perdure.db")
	s := open(t, Options{Path: path})
	for name, link := range map[string]func(string, string) error{"hard link": os.Link, "symbolic link": os.Symlink} {
		other := filepath.Join(t.TempDir(), "perdure.db")
		if err := link(path, other); err != nil {
			t.Fatal(err)
		}
		if again, err := Open(t.Context(), Options{Path: other}); !perdure.IsCode(err, perdure.Unavailable) {
			t.Errorf("a %s gives %v", name, err)
			if err == nil {
				again.Close()
			}
		}
		if err := Restore(t.Context(), path, other, true); err == nil {
			t.Errorf("a %s is replaced by a restore", name)
		}
	}
	if err := begin(t, s, [16]byte{1}, nil); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, Options{Path: path})
}
