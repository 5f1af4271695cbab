package storetest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
	"pgregory.net/rapid"
)

var segmentTests = map[string]func(*fixture){
	"paths of any tree are those that parents make":  treeProperty,
	"a branch goes on where its parent was the last": branchesGoOn,
	"entries beside the path have a path":            pathsBeside,
	"the length of a path is that of its entries":    pathLengths,
	"what two paths share ends at a common ancestor": commonAncestors,
	"a tree with many branch points":                 manyBranches,
}

// tree contains the entries that a test has created in one execution. The tests compute from them
// what the store must return.
type tree struct {
	*fixture
	id      uuid.UUID
	all     []perdure.Entry
	entries map[uuid.UUID]perdure.Entry
	covers  map[uuid.UUID]*perdure.CompactionRange // the ranges of those entries that are compactions
}

func (f *fixture) tree() *tree {
	f.Helper()
	return &tree{fixture: f, id: f.start(), entries: map[uuid.UUID]perdure.Entry{}, covers: map[uuid.UUID]*perdure.CompactionRange{}}
}

// next returns a new entry below the parent. The entry is not stored yet.
func (tr *tree) next(parent *uuid.UUID, t perdure.EntryType) perdure.Entry {
	if parent != nil {
		parent = ptr(*parent) // the caller may change its variable
	}
	e := perdure.Entry{
		ID: uuid.New(), ParentID: parent, Type: t, Content: json.RawMessage(fmt.Sprintf(`{"parts":[],"n":%d}`, len(tr.all))), CreatedAt: milestone(1),
	}
	if e.OnPath() {
		e.Role = perdure.RoleUser
	}
	tr.all, tr.entries[e.ID] = append(tr.all, e), e
	return e
}

// append stores entries with one command. If the store is a *Faults, the command may run twice. If
// the parameter `heads` is set, the command also loads the heads (perdure.EntryHead) of the
// parents, as the engine does.
func (tr *tree) append(s store.Store, heads bool, entries ...perdure.Entry) error {
	needs := store.Needs{}
	for _, e := range entries {
		needs.Entries = append(needs.Entries, e.ID)
		if heads && e.ParentID != nil {
			needs.Entries = append(needs.Entries, *e.ParentID)
		}
	}
	_, err := s.Do(tr.ctx, store.Command{
		Name: "test", Org: org, Lane: store.LaneCommits, Execution: tr.id,
		Needs: func(*perdure.Execution) store.Needs { return needs },
		Decide: func(s *store.State) (*store.Changes, error) {
			ch := &store.Changes{Execution: s.Execution}
			for _, e := range entries {
				if _, known := s.Entries[e.ID]; known {
					continue
				}
				ch.Entries = append(ch.Entries, store.Entry{Entry: e, Covers: tr.covers[e.ID]})
				if s.Execution.EntryCount++; e.OnPath() {
					s.Execution.Leaf = ptr(e.ID)
				}
			}
			return ch, nil
		},
	})
	return err
}

func (tr *tree) add(parent *uuid.UUID, t perdure.EntryType) uuid.UUID {
	tr.Helper()
	e := tr.next(parent, t)
	tr.must(tr.append(tr.s, true, e))
	return e.ID
}

// walk returns the path to an entry, computed from the parents of the entries in tr.
func (tr *tree) walk(leaf uuid.UUID) (path []perdure.Entry) {
	for at := &leaf; at != nil; {
		e := tr.entries[*at]
		path, at = append(path, e), e.ParentID
	}
	slices.Reverse(path)
	return path
}

// treeProperty appends to random trees. Some commands fail, lose their answers or run twice. The
// results of all path queries are compared with the results of the method walk.
func treeProperty(f *fixture) {
	rapid.Check(f, func(t *rapid.T) {
		tr := f.tree()
		faulty := &Faults{Store: f.s, Plan: func(int, store.Command) Fault {
			return rapid.SampledFrom([]Fault{NoFault, NoFault, NoFault, FailBefore, LoseAnswer, Twice}).Draw(t, "fault")
		}}
		for range rapid.IntRange(1, 12).Draw(t, "commits") {
			var batch []perdure.Entry
			for range rapid.IntRange(1, 6).Draw(t, "entries") {
				batch = append(batch, tr.draw(t))
			}
			heads := rapid.Bool().Draw(t, "heads")
			err := tr.append(faulty, heads, batch...)
			for perdure.IsCode(err, perdure.Unavailable) {
				err = tr.append(faulty, heads, batch...)
			}
			f.must(err)
		}
		for range 10 {
			tr.compare(t)
		}
		leaf := tr.anyEntry(t)
		f.samePath("the path", f.path(tr.id, leaf, nil, 0, true), tr.walk(leaf))
		tr.sound()
	})
}

// draw draws an entry. Its parent is usually the newest entry, so that the tree has long stretches
// without branches. Otherwise its parent is a random entry.
func (tr *tree) draw(t *rapid.T) perdure.Entry {
	if len(tr.all) == 0 {
		return tr.next(nil, perdure.EntryMessage)
	}
	kind := rapid.SampledFrom([]perdure.EntryType{perdure.EntryMessage, perdure.EntryMessage, perdure.EntryMessage, perdure.EntryLLMCall}).Draw(t, "type")
	i := len(tr.all) - 1
	if rapid.IntRange(0, 3).Draw(t, "branch") == 0 {
		i = rapid.IntRange(0, i).Draw(t, "parent")
	}
	for kind != perdure.EntryLLMCall && !tr.all[i].OnPath() {
		i--
	}
	return tr.next(ptr(tr.all[i].ID), kind)
}

func (tr *tree) anyEntry(t *rapid.T) uuid.UUID {
	return tr.all[rapid.IntRange(0, len(tr.all)-1).Draw(t, "entry")].ID
}

// compare checks that the store returns the same as can be computed from the entries in tr: a part
// of a path, the length of the path, and the common ancestor of two entries.
func (tr *tree) compare(t *rapid.T) {
	tr.Helper()
	leaf, other := tr.anyEntry(t), tr.anyEntry(t)
	path := tr.walk(leaf)
	n, err := tr.s.PathLength(tr.ctx, tr.id, leaf)
	tr.must(err)
	tr.equal("the length", n, int64(len(path)))
	tr.equal("the common ancestor", tr.common(leaf, other), lastShared(path, tr.walk(other)))

	newest := rapid.IntRange(0, len(path)+1).Draw(t, "newest")
	var after *uuid.UUID
	if rapid.Bool().Draw(t, "after any") {
		after = &other
		at := slices.IndexFunc(path, func(e perdure.Entry) bool { return e.ID == other })
		if at < 0 {
			for _, err := range tr.s.Path(tr.ctx, tr.id, leaf, after, newest, false) {
				tr.wantCode(err, perdure.NotFound)
			}
			return
		}
		path = path[at+1:]
	}
	if newest > 0 {
		path = path[max(0, len(path)-newest):]
	}
	tr.samePath(fmt.Sprintf("newest %d", newest), tr.path(tr.id, leaf, after, newest, false), path)
}

func (tr *tree) common(a, b uuid.UUID) *uuid.UUID {
	tr.Helper()
	id, err := tr.s.CommonAncestor(tr.ctx, tr.id, a, b)
	tr.must(err)
	return id
}

func lastShared(a, b []perdure.Entry) (last *uuid.UUID) {
	for i := range min(len(a), len(b)) {
		if a[i].ID != b[i].ID {
			break
		}
		last = &a[i].ID
	}
	return last
}

// sound checks that an audit of the execution reports no entry with a wrong position in the tree.
func (tr *tree) sound() {
	tr.Helper()
	wrong, err := invariants.AuditorOf(tr.s).AuditTree(tr.ctx, tr.id)
	tr.must(err)
	for _, what := range wrong {
		tr.Errorf("%s", what)
	}
}

// branchesGoOn appends entries to the ends of two branches, in turn, and checks the path of each
// branch.
func branchesGoOn(f *fixture) {
	tr := f.tree()
	root := tr.add(nil, perdure.EntryMessage)
	left, right := tr.add(&root, perdure.EntryMessage), tr.add(&root, perdure.EntryMessage)
	for range 5 {
		left, right = tr.add(&left, perdure.EntryMessage), tr.add(&right, perdure.EntryMessage)
		tr.add(&left, perdure.EntryLLMCall)
	}
	f.samePath("one branch", f.path(tr.id, left, nil, 0, false), tr.walk(left))
	f.samePath("the other", f.path(tr.id, right, nil, 0, false), tr.walk(right))
	tr.sound()
}

// pathsBeside checks the paths to llm_call entries, which are never part of the path that a model
// sees. The path to such an entry must consist of its ancestors and the entry itself.
func pathsBeside(f *fixture) {
	tr := f.tree()
	first := tr.add(nil, perdure.EntryLLMCall)
	root := tr.add(nil, perdure.EntryMessage)
	call := tr.add(&root, perdure.EntryLLMCall)
	again := tr.add(&call, perdure.EntryLLMCall)
	tr.add(&root, perdure.EntryMessage)
	for _, leaf := range []uuid.UUID{first, root, call, again} {
		path := tr.walk(leaf)
		f.samePath("the path", f.path(tr.id, leaf, nil, 0, false), path)
		for i := range path {
			f.samePath("a part", f.path(tr.id, leaf, &path[i].ID, 0, true), path[i+1:])
			f.samePath("the newest", f.path(tr.id, leaf, nil, i+1, false), path[len(path)-i-1:])
		}
		n, err := f.s.PathLength(f.ctx, tr.id, leaf)
		f.must(err)
		f.equal("its length", n, int64(len(path)))
	}
	f.equal("what calls share", tr.common(again, call), &call)
	f.equal("what a call shares with nothing before it", tr.common(first, call), (*uuid.UUID)(nil))
	tr.sound()
}

func pathLengths(f *fixture) {
	id, other := f.start(), f.start()
	all := f.chain(id, 70)
	for _, i := range []int{0, 1, 33, 69} {
		n, err := f.s.PathLength(f.ctx, id, all[i].ID)
		f.must(err)
		f.equal("the length", n, int64(i+1))
	}
	_, err := f.s.PathLength(f.ctx, other, all[0].ID)
	f.wantCode(err, perdure.NotFound)
}

func commonAncestors(f *fixture) {
	tr := f.tree()
	root := tr.add(nil, perdure.EntryMessage)
	trunk := tr.add(&root, perdure.EntryMessage)
	left := tr.add(&trunk, perdure.EntryMessage)
	right := tr.add(&trunk, perdure.EntryMessage)
	deep := tr.add(&right, perdure.EntryMessage)
	other := tr.add(&right, perdure.EntryMessage)
	for _, c := range []struct{ a, b, want uuid.UUID }{
		{left, right, trunk}, {deep, left, trunk}, {deep, other, right}, {deep, right, right}, {deep, deep, deep}, {root, deep, root},
	} {
		f.equal("the common ancestor", tr.common(c.a, c.b), &c.want)
		f.equal("the common ancestor, the other way round", tr.common(c.b, c.a), &c.want)
	}
	_, err := f.s.CommonAncestor(f.ctx, tr.id, deep, uuid.New())
	f.wantCode(err, perdure.NotFound)
}

// manyBranches checks reads of a path from which a branch leaves at every entry.
func manyBranches(f *fixture) {
	tr := f.tree()
	at := tr.next(nil, perdure.EntryMessage)
	batch := []perdure.Entry{at}
	for range 300 {
		batch = append(batch, tr.next(ptr(at.ID), perdure.EntryMessage))
		at = tr.next(ptr(at.ID), perdure.EntryMessage)
		batch = append(batch, at)
	}
	f.must(tr.append(f.s, false, batch...))
	path := tr.walk(at.ID)
	f.samePath("the path", f.path(tr.id, at.ID, nil, 0, false), path)
	f.samePath("the newest 7", f.path(tr.id, at.ID, nil, 7, false), path[len(path)-7:])
	f.samePath("from the 200th", f.path(tr.id, at.ID, &path[199].ID, 0, false), path[200:])
	tr.sound()
}
