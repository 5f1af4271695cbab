package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// TestWALIsReset checks that the write-ahead log does not exceed walLimit after many commits,
// and that the newest write is readable.
func TestWALIsReset(t *testing.T) {
	longtest.Skip(t, "seconds")
	path := filepath.Join(t.TempDir(), "perdure.db")
	s := open(t, Options{Path: path})
	id := uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	s.committer.walLimit = 512 << 10
	const walEvery = 256
	for i := range 2*walEvery + 10 {
		err := do(t, s, id, func(st *store.State) (*store.Changes, error) {
			st.Execution.Version = int64(i)
			return &store.Changes{Execution: st.Execution}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wal, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if wal.Size() > s.committer.walLimit {
		t.Errorf("after %d commits of a page at least, the log has %d bytes", 2*walEvery+10, wal.Size())
	}
	if x, err := s.Execution(t.Context(), "acme", id); err != nil || x.Version != 2*walEvery+9 {
		t.Errorf("the newest write gives %v, %v", x, err)
	}
}

// TestLooseBlobsAreSwept checks that a sweep deletes a blob with its content if no commit refers to
// it after LooseBlobAge, and keeps a blob to which a commit refers.
func TestLooseBlobsAreSwept(t *testing.T) {
	var passed atomic.Int64
	start := time.Now()
	s := open(t, Options{Clock: func() time.Time { return start.Add(time.Duration(passed.Load())) }})
	id, loose, owned := uuid.New(), uuid.New(), uuid.New()
	if err := begin(t, s, id, nil); err != nil {
		t.Fatal(err)
	}
	for _, blob := range []uuid.UUID{loose, owned} {
		err := do(t, s, id, func(*store.State) (*store.Changes, error) {
			return &store.Changes{Blob: &store.Blob{ID: blob, Length: 3, Held: 3, Owned: blob == owned}, BlobChunk: []byte("abc")}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	passed.Store(int64(store.LooseBlobAge))
	answers, err := s.Do(t.Context(), store.Command{Pick: &store.Pick{Kind: store.PickLooseBlobs}, Decide: func(st *store.State) (*store.Changes, error) {
		return &store.Changes{SweepBlobs: true, Answer: st.Execution.ID}, nil
	}})
	if err != nil || len(answers) != 1 || answers[0] != id {
		t.Errorf("the sweep answers %v, %v", answers, err)
	}
	if _, err := s.Blob(t.Context(), id, loose); !perdure.IsCode(err, perdure.NotFound) {
		t.Errorf("the loose blob gives %v", err)
	}
	if _, err := s.Blob(t.Context(), id, owned); err != nil {
		t.Errorf("the owned blob gives %v", err)
	}
	if n := count(t, s, "SELECT count(*) FROM blob_chunk"); n != 1 {
		t.Errorf("%d pieces are left, want 1", n)
	}
}

func count(t *testing.T, s *Store, query string) (n int) {
	t.Helper()
	err := s.pool.Read(context.WithoutCancel(t.Context()), func(v connection.View) error {
		_, err := v.One(query, nil, &n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
