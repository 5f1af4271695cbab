package worker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestPathsThatGrowStayAsTheyWereGiven reads and extends paths at random. It checks that the method
// `path` returns the stored path, that a returned path does not change when the cache grows, and
// that the counted size of the cache is correct.
func TestPathsThatGrowStayAsTheyWereGiven(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		tr := &tree{entries: map[uuid.UUID]perdure.Entry{}}
		w := New(Config{Dispatch: tr})
		x := uuid.New()
		var leaves []*uuid.UUID
		type giving struct {
			entries []perdure.Entry
			said    []uuid.UUID // ids of the entries when they were read
		}
		var given []giving
		for step := range 60 {
			var parent *uuid.UUID
			if len(leaves) > 0 {
				parent = leaves[max(0, len(leaves)-1-r.IntN(1+r.IntN(4)))] // usually the newest leaf
			}
			leaf := tr.add(parent, fmt.Sprint(step))
			leaves = append(leaves, leaf)
			if r.IntN(2) == 0 {
				w.paths.add(x, []perdure.Entry{tr.entries[*leaf]}) // as the worker does after a commit
			}
			if r.IntN(3) == 0 {
				leaf = leaves[r.IntN(len(leaves))]
			}
			var got []perdure.Entry
			for e, err := range w.path(t.Context(), x, *leaf) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e)
			}
			if want := tr.to(leaf); !slices.Equal(entryIDs(got), entryIDs(want)) {
				t.Fatalf("seed %d, step %d: the path is %v, want %v", seed, step, entryIDs(got), entryIDs(want))
			}
			held := w.paths.get(x)
			given = append(given, giving{held, entryIDs(held)})
			for _, g := range given {
				if now := entryIDs(g.entries); !slices.Equal(now, g.said) {
					t.Fatalf("seed %d, step %d: a path that was given as %v is now %v", seed, step, g.said, now)
				}
			}
			if weighed := 1000 + bytesOf(held); w.paths.bytes != weighed || w.paths.size(x) != weighed {
				t.Fatalf("seed %d, step %d: %d bytes count as %d, in all %d", seed, step, weighed, w.paths.size(x), w.paths.bytes)
			}
		}
	}
}

// to returns the path from the root to the leaf.
func (tr *tree) to(leaf *uuid.UUID) (path []perdure.Entry) {
	for at := leaf; at != nil; at = tr.entries[*at].ParentID {
		path = append(path, tr.entries[*at])
	}
	slices.Reverse(path)
	return path
}

func entryIDs(entries []perdure.Entry) (ids []uuid.UUID) {
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}
