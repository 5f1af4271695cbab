package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// blockReads returns how often the committer has read a block by its key.
func blockReads(s *Store) (n int) {
	for query, cost := range s.costs() {
		if strings.Contains(query, "FROM log_block b") && strings.Contains(query, "b.block = ?") {
			n += cost.Runs
		}
	}
	return n
}

// TestPiecesOfABlockDoNotReadItsRow checks that commands that change a cached block do not read the
// block's row. After the cache was cleared, the row must be read once.
func TestPiecesOfABlockDoNotReadItsRow(t *testing.T) {
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "perdure.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	id, task := uuid.New(), uuid.New()
	var key perdure.BlockKey
	do := func(needs store.Needs, decide func(st *store.State) *store.Changes) {
		t.Helper()
		_, err := s.Do(t.Context(), store.Command{
			Lane: store.LaneChunks, Org: "acme", Execution: id, Needs: func(*perdure.Execution) store.Needs { return needs },
			Decide: func(st *store.State) (*store.Changes, error) { return decide(st), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	do(store.Needs{}, func(st *store.State) *store.Changes {
		ch := keptStep(st, id, task, perdure.TaskRunning)
		b := openBlock(st, task)
		key, ch.Blocks = b.Key, []store.Block{b}
		return ch
	})
	grow := func(from int64) {
		t.Helper()
		do(store.Needs{Blocks: []perdure.BlockKey{key}}, func(st *store.State) *store.Changes {
			b := st.Blocks[key]
			if b == nil || b.Length != from {
				t.Fatalf("the block is %+v, want a length of %d", b, from)
			}
			b.Length++
			return &store.Changes{Blocks: []store.Block{*b}}
		})
	}
	for n := range int64(3) {
		grow(n)
	}
	if n := blockReads(s); n != 0 {
		t.Errorf("3 pieces read the block %d times", n)
	}
	if err := s.committer.audit(t.Context()); err != nil {
		t.Error(err)
	}
	s.committer.deciding.Lock()
	s.committer.cache.Clear()
	s.committer.deciding.Unlock()
	before := blockReads(s)
	grow(3)
	grow(4)
	if n := blockReads(s) - before; n != 1 {
		t.Errorf("2 pieces of a block that was let go of read it %d times, want once", n)
	}
}
