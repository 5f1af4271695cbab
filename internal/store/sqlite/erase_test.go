package sqlite

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// passing opens a store, stores a blob and erases it. It returns the store and its path.
func passing(t *testing.T) (*Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "perdure.db")
	s := open(t, Options{Path: path})
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("passing through "), 10_000)
	ref := perdure.ContentRef(id, content)
	for _, changes := range []*store.Changes{
		{Blob: &store.Blob{ID: ref.ID, Length: ref.Length, Held: ref.Length, SHA256: ref.SHA256, Owned: true}, BlobChunk: content},
		{Erase: []uuid.UUID{ref.ID}},
	} {
		if err := do(t, s, id, func(*store.State) (*store.Changes, error) { return changes, nil }); err != nil {
			t.Fatal(err)
		}
	}
	return s, path
}

func holds(t *testing.T, path string) bool {
	t.Helper()
	for _, name := range []string{path, path + "-wal"} {
		raw, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("passing through")) {
			return true
		}
	}
	return false
}

// sweepOnce calls Tidy, as the engine does periodically.
func sweepOnce(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Tidy(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestErasedLeavesTheFiles checks that the next sweep removes erased data from the files of the
// store, which contain it until then.
func TestErasedLeavesTheFiles(t *testing.T) {
	s, path := passing(t)
	if !holds(t, path) {
		t.Fatal("the content was never in the files, so nothing is tested")
	}
	sweepOnce(t, s)
	if holds(t, path) {
		t.Error("the content is still in the files")
	}
	if s.committer.erased.Load() {
		t.Error("the log would be begun anew again and again")
	}
}

// TestErasingWaitsForAReader checks that erased data stays in the log while a read prevents the
// reset of the log. The sweeps after that read must remove it.
func TestErasingWaitsForAReader(t *testing.T) {
	s, path := passing(t)
	reading, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.pool.Read(context.Background(), func(v connection.View) error {
			var n int64
			// From its first statement to its end, the read sees the same snapshot of the database.
			_, err := v.One("SELECT count(*) FROM blob", nil, &n)
			close(reading)
			<-release
			return err
		})
	}()
	<-reading
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil { // makes the reader's snapshot an older one
		t.Fatal(err)
	}
	sweepOnce(t, s)
	if !holds(t, path) {
		t.Fatal("the log was begun anew under a reader")
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for range forgetRest + 1 {
		sweepOnce(t, s)
	}
	if holds(t, path) {
		t.Error("the content stayed in the files")
	}
}
