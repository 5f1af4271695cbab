package storetest

import (
	"encoding/json"
	"fmt"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var pathTests = map[string]func(*fixture){
	"a path is the way from the root to the leaf":         pathWhole,
	"a path begins after an entry and ends at the leaf":   pathAfter,
	"a path is bounded to the newest":                     pathNewest,
	"branches and what hangs off are not on the path":     pathBranches,
	"a path of what does not exist is not found":          pathMissing,
	"writes go on while a path is read":                   pathWhileWriting,
	"a page of entries is bounded in bytes":               entriesBytes,
	"entries are given by id, with contents up to a size": entriesOf,
}

// chain appends n user entries, each a child of the previous one, and returns them in order.
func (f *fixture) chain(id uuid.UUID, n int) []perdure.Entry {
	f.Helper()
	var all []perdure.Entry
	f.change(id, func(s *store.State) *store.Changes {
		all = nil
		var ch store.Changes
		for i := range n {
			e := perdure.Entry{
				ID: uuid.New(), ParentID: s.Execution.Leaf, Type: perdure.EntryMessage, Role: perdure.RoleUser,
				Content: json.RawMessage(fmt.Sprintf(`{"parts":[],"n":%d}`, i)), CreatedAt: s.Now,
			}
			s.Execution.Leaf = ptr(e.ID)
			all = append(all, e)
			ch.Entries = append(ch.Entries, store.Entry{Entry: e})
		}
		ch.Execution = s.Execution
		return &ch
	})
	return all
}

// path reads a path, and fails the test at an error.
func (f *fixture) path(id, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq[perdure.Entry] {
	return func(yield func(perdure.Entry) bool) {
		for e, err := range f.s.Path(f.ctx, id, leaf, after, newest, lazy) {
			f.must(err)
			if !yield(e) {
				return
			}
		}
	}
}

func (f *fixture) samePath(what string, got iter.Seq[perdure.Entry], want []perdure.Entry) {
	f.Helper()
	i := 0
	for e := range got {
		if i >= len(want) || e.ID != want[i].ID || string(e.Content) != string(want[i].Content) {
			f.Fatalf("%s: entry %d is %s %s", what, i, e.ID, e.Content)
		}
		i++
	}
	f.equal(what+": how many entries", i, len(want))
}

func pathWhole(f *fixture) {
	id := f.start()
	all := f.chain(id, 2500)
	leaf := all[len(all)-1].ID
	f.samePath("the whole path", f.path(id, leaf, nil, 0, false), all)
	f.samePath("a part of it", f.path(id, all[99].ID, nil, 0, false), all[:100])
	f.samePath("the root alone", f.path(id, all[0].ID, nil, 0, true), all[:1])
	for e := range f.path(id, leaf, nil, 0, false) {
		f.equal("the first entry", e, all[0])
		break // a reader may stop at any time
	}
}

func pathAfter(f *fixture) {
	id := f.start()
	all := f.chain(id, 1500)
	leaf := all[1499].ID
	for _, at := range []int{0, 1, 499, 500, 1498, 1499} {
		f.samePath(fmt.Sprint("after ", at), f.path(id, leaf, &all[at].ID, 0, false), all[at+1:])
	}
}

func pathNewest(f *fixture) {
	id := f.start()
	all := f.chain(id, 1500)
	leaf := all[1499].ID
	for _, n := range []int{1, 2, 1000, 1001, 1499, 1500, 3000} {
		f.samePath(fmt.Sprint("newest ", n), f.path(id, leaf, nil, n, false), all[max(0, 1500-n):])
	}
	f.samePath("newest 5 after the last 3", f.path(id, leaf, &all[1496].ID, 5, false), all[1497:])
	f.samePath("newest 2 after the last 3", f.path(id, leaf, &all[1496].ID, 2, false), all[1498:])
}

func pathBranches(f *fixture) {
	id := f.start()
	all := f.chain(id, 4)
	hang := func(parent uuid.UUID, t perdure.EntryType) perdure.Entry {
		e := perdure.Entry{ID: uuid.New(), ParentID: &parent, Type: t, Content: json.RawMessage(`{}`), CreatedAt: f.s.Now()}
		if t == perdure.EntryMessage {
			e.Role = perdure.RoleUser
		}
		f.change(id, func(*store.State) *store.Changes { return &store.Changes{Entries: []store.Entry{{Entry: e}}} })
		return e
	}
	hang(all[2].ID, perdure.EntryLLMCall)
	branch := hang(all[1].ID, perdure.EntryMessage)
	f.samePath("the path", f.path(id, all[3].ID, nil, 0, false), all)
	f.samePath("the branch", f.path(id, branch.ID, nil, 0, false), append(all[:2:2], branch))
}

func pathMissing(f *fixture) {
	id := f.start()
	all := f.chain(id, 3)
	other := f.start()
	foreign := f.chain(other, 1)
	for what, path := range map[string]iter.Seq2[perdure.Entry, error]{
		"a leaf that is none":                 f.s.Path(f.ctx, id, uuid.New(), nil, 0, false),
		"a leaf of another execution":         f.s.Path(f.ctx, id, foreign[0].ID, nil, 0, false),
		"an after that is none":               f.s.Path(f.ctx, id, all[2].ID, ptr(uuid.New()), 0, false),
		"an after that is not on the path":    f.s.Path(f.ctx, id, all[0].ID, &all[1].ID, 0, false),
		"a leaf of an execution that is none": f.s.Path(f.ctx, uuid.New(), all[0].ID, nil, 0, false),
	} {
		count := 0
		for _, err := range path {
			count++
			if !perdure.IsCode(err, perdure.NotFound) {
				f.Errorf("%s gives %v", what, err)
			}
		}
		f.equal(what+": how many answers", count, 1)
	}
}

// pathWhileWriting checks that writes and other reads succeed while a path is being read, and that
// the path is not affected.
func pathWhileWriting(f *fixture) {
	id := f.start()
	all := f.chain(id, 200)
	i := 0
	for e := range f.path(id, all[199].ID, nil, 0, false) {
		f.equal("the entry", e.ID, all[i].ID)
		if i++; i%40 == 0 {
			f.chain(id, 1)
			f.execution(id)
		}
	}
	f.equal("how many entries", i, 200)
}

func entriesBytes(f *fixture) {
	id := f.start()
	content := jsonText(5 << 20)
	var want []uuid.UUID
	for range 4 {
		e := perdure.Entry{ID: uuid.New(), ParentID: f.execution(id).Leaf, Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: content, CreatedAt: f.s.Now()}
		f.change(id, func(s *store.State) *store.Changes {
			s.Execution.Leaf = &e.ID
			return &store.Changes{Execution: s.Execution, Entries: []store.Entry{{Entry: e}}}
		})
		want = append(want, e.ID)
	}
	var got []uuid.UUID
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := f.s.AllEntries(f.ctx, id, cursor, 100)
		f.must(err)
		if len(page.Items) > 3 {
			f.Errorf("a page holds %d entries of 5 MiB", len(page.Items))
		}
		for _, e := range page.Items {
			got = append(got, e.ID)
		}
		cursor = page.Next
	}
	f.equal("the entries", got, want)
}

func entriesOf(f *fixture) {
	id, other := f.start(), f.start()
	small := f.chain(id, 3)
	blobs := map[int]uuid.UUID{}
	large := func(size int) {
		e := perdure.Entry{ID: uuid.New(), Type: perdure.EntryLLMCall, Content: jsonText(size), CreatedAt: milestone(1)}
		blobs[size] = e.ID
		f.change(id, func(*store.State) *store.Changes { return &store.Changes{Entries: []store.Entry{{Entry: e}}} })
	}
	const most = 2 * perdure.BlobChunk
	large(most)
	large(most + 1)
	asked := []uuid.UUID{small[2].ID, blobs[most], small[0].ID, blobs[most+1], small[1].ID}
	for name, s := range map[string]store.Reader{"the reader": f.s, "a lazy reader": f.s.Lazy()} {
		got, err := s.EntriesOf(f.ctx, id, asked, most)
		f.must(err)
		for i, e := range got {
			want, err := f.s.Entry(f.ctx, id, asked[i])
			f.must(err)
			if e.ID == blobs[most+1] {
				if e.Content != nil || e.Blob == nil || e.Blob.Length != most+1 {
					f.Errorf("%s gives a content that is too large as %d bytes, %+v", name, len(e.Content), e.Blob)
				}
				e.Content, e.Blob = want.Content, nil
			}
			f.equal(name+" gives an entry", e, *want)
		}
		f.equal(name+" gives so many", len(got), len(asked))
	}
	_, err := f.s.EntriesOf(f.ctx, id, []uuid.UUID{small[0].ID, uuid.New()}, most)
	f.wantCode(err, perdure.NotFound)
	_, err = f.s.EntriesOf(f.ctx, other, asked[:1], most)
	f.wantCode(err, perdure.NotFound)
	none, err := f.s.EntriesOf(f.ctx, id, nil, most)
	f.must(err)
	f.equal("none", none, nil)

	// The first call of EntriesOf returns about store.PageBytes bytes of entries. The next call
	// returns the rest of the entries.
	var all []uuid.UUID
	for range 5 {
		large(store.PageBytes / 3)
		all = append(all, blobs[store.PageBytes/3])
	}
	first, err := f.s.EntriesOf(f.ctx, id, all, store.PageBytes)
	f.must(err)
	rest, err := f.s.EntriesOf(f.ctx, id, all[len(first):], store.PageBytes)
	f.must(err)
	f.equal("how many there are in two calls", []int{len(first), len(rest)}, []int{3, 2})
	f.equal("the last", rest[1].ID, all[4])
}
