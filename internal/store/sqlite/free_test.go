package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
)

// TestTheFileShrinks checks that the space of a deleted execution is returned to the file system:
// the file and its log become shorter. A backup must have the same vacuum mode as the store.
func TestTheFileShrinks(t *testing.T) {
	longtest.Skip(t, "seconds")
	path := filepath.Join(t.TempDir(), "perdure.db")
	s := open(t, Options{Path: path})
	id, blob := uuid.New(), uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	const size = 8 << 20
	err := do(t, s, id, func(*store.State) (*store.Changes, error) {
		return &store.Changes{Blob: &store.Blob{ID: blob, Length: size, Held: size, Owned: true}, BlobChunk: make([]byte, size)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	change := func(ch store.Changes) {
		t.Helper()
		if err := do(t, s, id, func(*store.State) (*store.Changes, error) { return &ch, nil }); err != nil {
			t.Fatal(err)
		}
	}
	change(store.Changes{Prune: &store.Prune{Execution: true}})
	for count(t, s, "SELECT count(*) FROM agent_execution") > 0 {
		change(store.Changes{Prune: &store.Prune{Rows: 200}})
	}
	pages, pageSize, err := s.Unused(t.Context())
	if err != nil || pages*pageSize < size {
		t.Fatalf("%d pages of %d bytes are unused, %v; want those of the blob", pages, pageSize, err)
	}
	for ; pages > 0; pages, _, err = s.Unused(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		change(store.Changes{Free: 128})
	}
	for _, name := range []string{path, path + "-wal"} {
		f, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if f.Size() > size/4 {
			t.Errorf("%s has %d bytes still", filepath.Base(name), f.Size())
		}
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := Backup(t.Context(), path, copied, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	if mode := count(t, open(t, Options{Path: copied}), "PRAGMA auto_vacuum"); mode != incremental {
		t.Errorf("a copy has the vacuum mode %d", mode)
	}
}
