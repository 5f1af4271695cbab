package storetest

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"pgregory.net/rapid"
)

var barrierTests = map[string]func(*fixture){
	"the context of any path is that of the whole path": contextProperty,
	"the leaf decides which compaction applies":         contextsOfLeaves,
	"a context begins at what the compaction keeps":     contextsAreBounded,
	"compactions of earlier builds have a context":      contextsWithoutBarrier,
	"a compaction whose range names no entry of a path": contextsAcrossBranches,
}

// compact returns a new compaction whose parent is the entry `parent`. It does not store the
// compaction.
func (tr *tree) compact(parent uuid.UUID, r perdure.CompactionRange) perdure.Entry {
	tr.Helper()
	e := tr.next(&parent, perdure.EntryCompaction)
	metadata, err := json.Marshal(perdure.CompactionRecord{
		Last: r.Last, KeepFrom: r.KeepFrom, Pinned: r.Pinned, ResultBytes: 100, Reason: perdure.CompactionManual,
	})
	tr.must(err)
	e.Metadata = metadata
	tr.all[len(tr.all)-1], tr.entries[e.ID], tr.covers[e.ID] = e, e, &r
	return e
}

func (tr *tree) collect(path iter.Seq2[perdure.Entry, error]) (all []perdure.Entry) {
	tr.Helper()
	for e, err := range path {
		tr.must(err)
		all = append(all, e)
	}
	return all
}

// sameContext reads the entries for the context at leaf with ContextPath, and returns them. It
// checks that their context equals the context of the whole path.
func (tr *tree) sameContext(leaf uuid.UUID) []perdure.Entry {
	tr.Helper()
	read := tr.collect(tr.s.ContextPath(tr.ctx, tr.id, leaf, nil, false))
	want, wrong := perdure.ContextOf(tr.collect(tr.s.Path(tr.ctx, tr.id, leaf, nil, 0, false)))
	got, err := perdure.ContextOf(read)
	if tr.equal("the error", perdure.CodeOf(err), perdure.CodeOf(wrong)); err != nil {
		return read
	}
	left, err := tr.s.LeftOut(tr.ctx, tr.id, leaf)
	tr.must(err)
	if left != nil {
		tr.equal("what is left out without the covered entries", len(got.LeftOut), 0)
		got.LeftOut = append([]perdure.LeftOut(nil), left...)
	}
	tr.equal("the context", got, want)
	return read
}

// contextProperty builds random trees with compactions, and compares the context that ContextPath
// yields with the context of the whole path. The fields Last, KeepFrom and Pinned of a compaction
// refer to random entries: of its path or of another branch, stored or new in the same command.
func contextProperty(f *fixture) {
	rapid.Check(f, func(t *rapid.T) {
		tr := f.tree()
		faulty := &Faults{Store: f.s, Plan: func(int, store.Command) Fault {
			return rapid.SampledFrom([]Fault{NoFault, NoFault, NoFault, FailBefore, LoseAnswer, Twice}).Draw(t, "fault")
		}}
		for range rapid.IntRange(1, 10).Draw(t, "commits") {
			var batch []perdure.Entry
			for range rapid.IntRange(1, 6).Draw(t, "entries") {
				batch = append(batch, tr.drawWithCompactions(t))
			}
			heads := rapid.Bool().Draw(t, "heads")
			err := tr.append(faulty, heads, batch...)
			for perdure.IsCode(err, perdure.Unavailable) {
				err = tr.append(faulty, heads, batch...)
			}
			f.must(err)
		}
		for range 8 {
			tr.compareContinued(t, tr.anyEntry(t))
		}
		tr.sound()
	})
}

// drawWithCompactions draws an entry. In one of four cases it is a compaction.
func (tr *tree) drawWithCompactions(t *rapid.T) perdure.Entry {
	if len(tr.all) < 3 || rapid.IntRange(0, 3).Draw(t, "compacts") > 0 {
		return tr.draw(t)
	}
	parent := tr.anyOnPath(t)
	path := tr.walk(parent)
	some := func(name string) uuid.UUID {
		if rapid.IntRange(0, 9).Draw(t, name+" anywhere") == 0 {
			return tr.anyOnPath(t)
		}
		return path[rapid.IntRange(0, len(path)-1).Draw(t, name)].ID
	}
	r := perdure.CompactionRange{Last: some("last"), Pinned: []uuid.UUID{}}
	if rapid.Bool().Draw(t, "keeps") {
		r.KeepFrom = ptr(some("keep"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "pins") {
		r.Pinned = append(r.Pinned, some("pin"))
	}
	e := tr.compact(parent, r)
	if rapid.IntRange(0, 5).Draw(t, "earlier build") == 0 {
		delete(tr.covers, e.ID)
	}
	return e
}

func (tr *tree) anyOnPath(t *rapid.T) uuid.UUID {
	i := rapid.IntRange(0, len(tr.all)-1).Draw(t, "entry of a path")
	for !tr.all[i].OnPath() {
		i--
	}
	return tr.all[i].ID
}

// compareContinued checks the context at a leaf, and a read of that context that continues after a
// random entry.
func (tr *tree) compareContinued(t *rapid.T, leaf uuid.UUID) {
	tr.Helper()
	read := tr.sameContext(leaf)
	after := tr.anyEntry(t)
	got := tr.collect(tr.s.ContextPath(tr.ctx, tr.id, leaf, &after, false))
	want := read
	// A read that continues after an entry returns only the entries after that entry, if an
	// unbroken chain of parents leads from the leaf to it. For any other entry, such as one in
	// CompactionRange.Pinned, the read returns the whole context. An entry in Pinned may be the
	// parent of the first kept entry and so look like a part of the chain. For such an entry, the
	// test accepts both results.
	at := slices.IndexFunc(read, func(e perdure.Entry) bool { return e.ID == after })
	if at >= 0 && tr.entries[after].OnPath() && connected(read[at:]) && len(got) < len(read) {
		want = read[at+1:]
	}
	tr.samePath("the context after an entry", slices.Values(got), want)
}

// connected reports whether the entries form a chain: each one is the parent of the next one.
func connected(entries []perdure.Entry) bool {
	for i := range entries[1:] {
		if p := entries[i+1].ParentID; p == nil || *p != entries[i].ID {
			return false
		}
	}
	return true
}

// contextsOfLeaves checks that a leaf before a compaction, or on another branch, has its own context.
func contextsOfLeaves(f *fixture) {
	tr := f.tree()
	var at []uuid.UUID
	for i := range 10 {
		var parent *uuid.UUID
		if i > 0 {
			parent = &at[i-1]
		}
		at = append(at, tr.add(parent, perdure.EntryMessage))
	}
	first := tr.compact(at[5], perdure.CompactionRange{Last: at[3], KeepFrom: &at[4], Pinned: []uuid.UUID{at[0]}})
	f.must(tr.append(f.s, true, first)) // opens a branch below at[5]
	onward := tr.add(&first.ID, perdure.EntryMessage)
	second := tr.compact(onward, perdure.CompactionRange{Last: at[5], KeepFrom: &onward})
	f.must(tr.append(f.s, true, second))
	record := tr.add(&second.ID, perdure.EntryLLMCall)
	for name, c := range map[string]struct {
		leaf uuid.UUID
		want []uuid.UUID
	}{
		"the branch without a compaction": {at[9], at},
		"before the compactions":          {at[3], at[:4]},
		"the first compaction itself":     {first.ID, []uuid.UUID{at[0], at[4], at[5], first.ID}},
		"after the first compaction":      {onward, []uuid.UUID{at[0], at[4], at[5], first.ID, onward}},
		"the second compaction":           {second.ID, []uuid.UUID{onward, second.ID}},
		"a record beside it":              {record, []uuid.UUID{onward, second.ID, record}},
	} {
		f.equal(name, idsOfEntries(tr.sameContext(c.leaf)), c.want)
	}
	left, err := f.s.LeftOut(f.ctx, tr.id, onward)
	f.must(err)
	f.equal("what is left out", left, []perdure.LeftOut{{First: at[1], Last: at[3], Entries: 3, Why: perdure.LeftOutByCompaction, EntryID: first.ID}})
	for _, err := range f.s.ContextPath(f.ctx, tr.id, uuid.New(), nil, false) {
		f.wantCode(err, perdure.NotFound)
	}
}

func idsOfEntries(entries []perdure.Entry) (ids []uuid.UUID) {
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

// contextsAreBounded checks a compaction that keeps only pinned entries (CompactionRange.Pinned).
// The context must consist of these entries and the compaction. All entries of the execution are
// appended with one command.
func contextsAreBounded(f *fixture) {
	tr := f.tree()
	batch := []perdure.Entry{tr.next(nil, perdure.EntryMessage)}
	for range 50 {
		batch = append(batch, tr.next(&batch[len(batch)-1].ID, perdure.EntryMessage))
	}
	last := batch[50].ID
	batch = append(batch, tr.compact(last, perdure.CompactionRange{Last: last, Pinned: []uuid.UUID{batch[20].ID, batch[7].ID, batch[7].ID}}))
	f.must(tr.append(f.s, false, batch...))
	f.equal("the entries", idsOfEntries(tr.sameContext(batch[51].ID)), []uuid.UUID{batch[7].ID, batch[20].ID, batch[51].ID})
}

// contextsWithoutBarrier checks a compaction whose row has no barrier (see load.Barrier). Its
// context must be read from the whole path. A later compaction must have a barrier again.
func contextsWithoutBarrier(f *fixture) {
	tr := f.tree()
	root := tr.add(nil, perdure.EntryMessage)
	kept := tr.add(&root, perdure.EntryMessage)
	old := tr.compact(kept, perdure.CompactionRange{Last: root, KeepFrom: &kept})
	delete(tr.covers, old.ID)
	f.must(tr.append(f.s, true, old))
	f.equal("the whole path", len(tr.sameContext(old.ID)), 3)
	later := tr.compact(old.ID, perdure.CompactionRange{Last: kept})
	f.must(tr.append(f.s, true, later))
	f.equal("from the later one", idsOfEntries(tr.sameContext(later.ID)), []uuid.UUID{later.ID})
}

// contextsAcrossBranches checks compactions that name entries of another branch. If the first kept
// entry is on another branch, the compaction has no barrier (see load.Barrier), and its context is
// read from the whole path. A pinned entry on another branch is not in the context.
func contextsAcrossBranches(f *fixture) {
	tr := f.tree()
	root := tr.add(nil, perdure.EntryMessage)
	one, other := tr.add(&root, perdure.EntryMessage), tr.add(&root, perdure.EntryMessage)
	wrong := tr.compact(one, perdure.CompactionRange{Last: root, KeepFrom: &other})
	f.must(tr.append(f.s, true, wrong))
	f.equal("the whole path", len(tr.sameContext(wrong.ID)), 3)
	pins := tr.compact(one, perdure.CompactionRange{Last: root, KeepFrom: &one, Pinned: []uuid.UUID{other, one, root}})
	f.must(tr.append(f.s, true, pins))
	f.equal("without the other branch", idsOfEntries(tr.sameContext(pins.ID)), []uuid.UUID{root, one, pins.ID})
}

// picksByFeatures checks that a worker gets no execution or task that needs a feature that the
// worker does not have. Such work must not block other work.
func picksByFeatures(f *fixture) {
	start := func(needs perdure.Features, n int) uuid.UUID {
		return f.start(func(x *perdure.Execution) {
			x.Queue, x.Kind, x.Status, x.NeedsFeatures, x.ReadyAt = "q", "k", perdure.StatusPending, needs, milestone(int64(n))
		})
	}
	needy, plain, newer := start(perdure.FeatureContext, 1), start(0, 2), start(1<<40, 3)
	var tasks []uuid.UUID
	for i, needs := range []perdure.Features{perdure.FeatureContext, 0} {
		task := wholeTask(plain)
		task.Status, task.Queue, task.Kind, task.NeedsFeatures, task.CompletedAt, task.CreatedAt = perdure.TaskPending, "q", "k", needs, nil, milestone(int64(i+1))
		task.Step, task.Options, task.NotBefore, task.Key = false, perdure.TaskOptions{}, milestone(0), uuid.NewString()
		task.WorkerID, task.ClaimID, task.LeaseUntil, task.Embedded, task.AttemptAt, task.SignAt = nil, uuid.Nil, perdure.Time{}, false, perdure.Time{}, perdure.Time{}
		f.putTask(task)
		tasks = append(tasks, task.ID)
	}
	pick := func(kind store.PickKind, has perdure.Features, limit int) []uuid.UUID {
		return f.picked(org, store.Pick{Kind: kind, Queues: []string{"q"}, Kinds: []string{"k"}, Features: has, Limit: limit})
	}
	f.equal("executions for a worker without features", pick(store.PickAgents, 0, 1), []uuid.UUID{plain})
	f.equal("executions for a worker with them", pick(store.PickAgents, perdure.AllFeatures, 9), []uuid.UUID{needy, plain})
	f.equal("executions for a newer worker", pick(store.PickAgents, -1, 9), []uuid.UUID{needy, plain, newer})
	f.equal("tasks for a worker without features", pick(store.PickTasks, 0, 1), tasks[1:])
	f.equal("tasks for a worker with them", pick(store.PickTasks, perdure.AllFeatures, 9), tasks)
}
