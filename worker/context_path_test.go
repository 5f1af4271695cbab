package worker

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

// compact adds a compaction as a child of the entry `parent`.
func (tr *tree) compact(parent *uuid.UUID, r perdure.CompactionRange) *uuid.UUID {
	e, err := perdure.NewMessageEntry(user("summary"))
	if err != nil {
		panic(err)
	}
	e.Type, e.ParentID = perdure.EntryCompaction, parent
	if e.Metadata, err = json.Marshal(perdure.CompactionRecord{Last: r.Last, KeepFrom: r.KeepFrom, Pinned: r.Pinned, Reason: perdure.CompactionManual}); err != nil {
		panic(err)
	}
	tr.entries[e.ID] = e
	return &e.ID
}

// walk returns the path from the root to the entry `leaf`.
func (tr *tree) walk(leaf uuid.UUID) (path []perdure.Entry) {
	for at := &leaf; at != nil; at = tr.entries[*at].ParentID {
		path = append(path, tr.entries[*at])
	}
	slices.Reverse(path)
	return path
}

// contextPath returns what a server sends for a query with the field Context: the path from the first
// entry that the newest compaction keeps (KeepFrom) and, before it, the entries in the list Pinned of
// that compaction.
func (tr *tree) contextPath(q perdure.EntryQuery) []perdure.Entry {
	path := tr.walk(q.Leaf)
	read := path
	seen, err := perdure.ContextOf(path)
	if err == nil && seen.Compaction != nil {
		c, _ := seen.Compaction.Compaction()
		from := slices.IndexFunc(path, func(e perdure.Entry) bool { return c.KeepFrom != nil && e.ID == *c.KeepFrom })
		if from < 0 {
			from = slices.IndexFunc(path, func(e perdure.Entry) bool { return e.ID == seen.Compaction.ID })
		}
		pinned := slices.DeleteFunc(slices.Clone(path[:from]), func(e perdure.Entry) bool { return !slices.Contains(c.Pinned, e.ID) })
		read, path = slices.Concat(pinned, path[from:]), path[from:]
	}
	if q.After != nil {
		if at := slices.IndexFunc(path, func(e perdure.Entry) bool { return e.ID == *q.After }); at >= 0 {
			return path[at+1:]
		}
	}
	return read
}

// TestContextPathProperty checks random trees, compactions and reads. The context that is built
// from the entries of the worker's contextPath equals the context of the whole path, whatever is
// cached. That also holds for a server that ignores the query's field Context.
func TestContextPathProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := &tree{entries: map[uuid.UUID]perdure.Entry{}, earlier: rapid.IntRange(0, 3).Draw(t, "earlier server") == 0}
		w := New(Config{Dispatch: tr})
		x := uuid.New()
		all := []uuid.UUID{*tr.add(nil, "root")}
		some := func(name string, from []uuid.UUID) uuid.UUID {
			return from[rapid.IntRange(0, len(from)-1).Draw(t, name)]
		}
		for range rapid.IntRange(5, 60).Draw(t, "steps") {
			parent := all[len(all)-1]
			if rapid.IntRange(0, 9).Draw(t, "branch") == 0 {
				parent = some("parent", all)
			}
			path := entryIDs(tr.walk(parent))
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1, 2, 3, 4:
				id := *tr.add(&parent, "message")
				if all = append(all, id); rapid.Bool().Draw(t, "by this worker") {
					w.paths.add(x, []perdure.Entry{tr.entries[id]})
				}
			case 5, 6:
				r := perdure.CompactionRange{Last: some("last", path), Pinned: []uuid.UUID{some("pin", path), some("pin", all)}}
				if keep := some("keep", path); rapid.Bool().Draw(t, "keeps") {
					r.KeepFrom = &keep
				}
				all = append(all, *tr.compact(&parent, r))
			case 7:
				leaf := some("leaf", all)
				var got []perdure.Entry
				for e, err := range w.path(t.Context(), x, leaf) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, e)
				}
				if d := cmp.Diff(entryIDs(got), entryIDs(tr.walk(leaf))); d != "" {
					t.Fatal(d)
				}
			default:
				leaf := all[len(all)-1]
				if rapid.IntRange(0, 3).Draw(t, "old leaf") == 0 {
					leaf = some("leaf", all)
				}
				sameContext(t, tr, w, x, leaf)
			}
		}
	})
}

func sameContext(t *rapid.T, tr *tree, w *Worker, x, leaf uuid.UUID) {
	var read []perdure.Entry
	for e, err := range w.contextPath(t.Context(), x, leaf) {
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, e)
	}
	got, err := perdure.ContextOf(read)
	if err != nil {
		t.Fatal(err)
	}
	want, err := perdure.ContextOf(tr.walk(leaf))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Entries, got.Entries); d != "" {
		t.Fatalf("the context differs: %s", d)
	}
}

// TestContextIsReadFromTheCompaction checks that a worker reads and caches only what the newest
// compaction keeps. After that, it reads only new entries, even if another compaction follows.
func TestContextIsReadFromTheCompaction(t *testing.T) {
	tr := &tree{entries: map[uuid.UUID]perdure.Entry{}}
	w := New(Config{Dispatch: tr})
	x := uuid.New()
	root := tr.add(nil, "root")
	at := root
	grow := func(n int) {
		for range n {
			at = tr.add(at, "message")
		}
	}
	compact := func() {
		keep := *at
		grow(3)
		at = tr.compact(at, perdure.CompactionRange{Last: *root, KeepFrom: &keep, Pinned: []uuid.UUID{*root}})
	}
	read := func(want, given int) {
		t.Helper()
		before, n := tr.given, 0
		for _, err := range w.contextPath(t.Context(), x, *at) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want || tr.given-before != given {
			t.Errorf("the context has %d entries, %d of them from the server; want %d and %d", n, tr.given-before, want, given)
		}
	}
	grow(1000)
	compact()
	read(6, 6) // the root, 4 kept entries, and the compaction
	grow(10)
	read(16, 10)
	compact()
	read(6, 4)
	read(6, 0)
	if held := w.paths.held(x); len(held.entries) != 5 || !held.partial {
		t.Errorf("%d entries are cached after the compaction", len(held.entries))
	}
	all := 0
	for range w.path(t.Context(), x, *at) {
		all++
	}
	if all != len(tr.entries) {
		t.Errorf("the whole path has %d entries, want %d", all, len(tr.entries))
	}
	read(6, 0) // the context is built from the whole path, which stays cached
}
