package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var pruneTests = map[string]func(*fixture){
	"an execution that is being deleted is there for nobody": deletingIsHidden,
	"what is marked goes a bounded number of rows at a time": deletedInSteps,
	"a pruned log keeps its last record and its head":        logIsPruned,
	"old checkpoints go, the newest never":                   checkpointsGo,
	"a checkpoint's blob goes with it unless it is shared":   checkpointBlobs,
	"unused pages can be given back":                         pagesAreFreed,
}

// large creates an ended execution with rows of every kind: n entries, each a child of the previous
// one, n events, n tasks, n signals, an idempotency key and a blob.
func (f *fixture) large(n int) uuid.UUID {
	f.Helper()
	id := f.start()
	var parent *uuid.UUID
	for at := 0; at < n; at += 100 {
		f.change(id, func(s *store.State) *store.Changes {
			l := logOf(s)
			c := &store.Changes{Execution: s.Execution}
			for i := at; i < min(at+100, n); i++ {
				e := perdure.Entry{
					ID: uuid.New(), ParentID: parent, Type: perdure.EntryMessage, Role: perdure.RoleUser,
					Content: json.RawMessage(`{"parts":[{"type":"text","text":"hi"}]}`), CreatedAt: s.Now,
				}
				parent = &e.ID
				c.Entries = append(c.Entries, store.Entry{Entry: e})
				t := wholeTask(id)
				t.ID, t.Key = uuid.New(), fmt.Sprint("task ", i)
				c.Tasks = append(c.Tasks, t)
				c.Signals = append(c.Signals, perdure.Signal{ID: fmt.Sprint(i), Name: "n", State: perdure.SignalPending, Order: int64(i + 1), CreatedAt: s.Now})
				l.event(s, perdure.EventData).Fields = json.RawMessage(`{"data":{"type":"x"}}`)
			}
			s.Execution.Leaf = parent
			c.Head, c.Records = &l.head, l.records
			return c
		})
	}
	f.upload(id, random(perdure.BlobChunk+1), perdure.BlobChunk)
	f.must(f.outside(org, store.Changes{Idempotency: &store.Idempotency{Key: id.String(), Execution: id, ExpiresAt: f.ago(-time.Hour)}}))
	f.endExecution(id, f.s.Now())
	return id
}

// endExecution ends an execution at the given time. The same command writes an agent.completed
// event.
func (f *fixture) endExecution(id uuid.UUID, at perdure.Time) {
	f.Helper()
	f.change(id, func(s *store.State) *store.Changes {
		l := logOf(s)
		l.event(s, perdure.EventCompleted)
		s.Execution.Status, s.Execution.CompletedAt = perdure.StatusCompleted, &at
		return &store.Changes{Execution: s.Execution, Head: &l.head, Records: l.records}
	})
}

func (f *fixture) prune(id uuid.UUID, p store.Prune) {
	f.Helper()
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Prune: &p} })
}

// drop deletes all rows that are marked for deletion, and returns the number of commands. One
// command deletes at most `rows` rows.
func (f *fixture) drop(rows int) int {
	f.Helper()
	for steps := 0; ; steps++ {
		answers := f.do(store.Command{Lane: store.LaneSweeps, Pick: &store.Pick{Kind: store.PickPruned, Limit: 1}, Decide: func(*store.State) (*store.Changes, error) {
			return &store.Changes{Prune: &store.Prune{Rows: rows}, Answer: true}, nil
		}})
		if len(answers) == 0 {
			return steps
		}
	}
}

func (f *fixture) wantGone(id uuid.UUID) {
	f.Helper()
	_, err := f.s.Execution(f.ctx, org, id)
	f.wantCode(err, perdure.NotFound)
	_, err = f.s.Execution(f.ctx, "", id)
	f.wantCode(err, perdure.NotFound)
	_, err = f.s.LogHead(f.ctx, id)
	f.wantCode(err, perdure.NotFound)
	heads, err := f.s.LogHeads(f.ctx, []uuid.UUID{id})
	f.must(err)
	f.equal("its head among others", heads, map[uuid.UUID]store.Head{})
	_, _, err = f.s.Log(f.ctx, id, 0, 10)
	f.wantCode(err, perdure.NotFound)
	_, _, err = f.s.OpenBlocks(f.ctx, id)
	f.wantCode(err, perdure.NotFound)
	list, err := f.s.Executions(f.ctx, org, store.ExecutionFilter{})
	f.must(err)
	if slices.ContainsFunc(list.Items, func(x *perdure.Execution) bool { return x.ID == id }) {
		f.Error("it is still listed")
	}
	if state := f.look(id, store.Needs{OpenTasks: true, Retention: true}); state.Execution != nil {
		f.Error("a command still finds it")
	}
}

func deletingIsHidden(f *fixture) {
	id, other := f.large(5), f.start()
	f.prune(id, store.Prune{Execution: true})
	f.wantGone(id)
	var known *store.Idempotency
	f.do(store.Command{
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Idempotency: id.String()} },
		Decide: func(s *store.State) (*store.Changes, error) { known = s.Idempotency; return nil, nil },
	})
	if known != nil {
		f.Error("its idempotency key still answers with it")
	}
	for _, kind := range []store.PruneKind{store.PruneExecutions, store.PruneLogs, store.PruneCheckpoints} {
		page, err := f.s.Prunable(f.ctx, store.PruneQuery{Kind: kind, Org: org, OlderThan: ptr(time.Duration(0))})
		f.must(err)
		f.equal("what may be pruned of "+string(kind), len(page.Items), 0)
	}
	f.execution(other)
}

func deletedInSteps(f *fixture) {
	const n, rows = 1200, 100
	id, other := f.large(n), f.large(3)
	before := f.path(other, *f.execution(other).Leaf, nil, 0, false)
	f.prune(id, store.Prune{Execution: true})
	// The execution has at least n entries, n tasks, n signals and n records, so the deletion needs
	// at least 4*n/rows commands.
	if steps := f.drop(rows); steps < 4*n/rows {
		f.Errorf("over %d rows went in %d steps of %d", 4*n, steps, rows)
	}
	f.wantGone(id)
	leaf := f.execution(other).Leaf
	count := 0
	for range f.path(other, *leaf, nil, 0, false) {
		count++
	}
	f.equal("the entries of the other execution", count, 3)
	_ = before
	// The id of the deleted execution can be used again.
	f.start(func(x *perdure.Execution) { x.ID = id })
	f.equal("the log of a new execution of that id", f.head(id), store.Head{LastSeq: 1, LastPos: 1, Epoch: 7, Nonce: f.head(id).Nonce})
}

func (f *fixture) head(id uuid.UUID) store.Head {
	f.Helper()
	head, err := f.s.LogHead(f.ctx, id)
	f.must(err)
	return head
}

func logIsPruned(f *fixture) {
	id := f.large(250)
	before := f.head(id)
	all, _, err := f.s.Log(f.ctx, id, before.LastPos-1, 10)
	f.must(err)
	f.prune(id, store.Prune{Log: true})
	check := func(when string) {
		f.Helper()
		head := f.head(id)
		want := before
		want.FirstPos = before.LastPos
		f.equal("the head "+when, head, want)
		for _, after := range []int64{0, 1, 100, before.LastPos - 1} {
			got, _, err := f.s.Log(f.ctx, id, after, 1000)
			f.must(err)
			f.equal(fmt.Sprint("the log after ", after, " ", when), got, all)
		}
		got, _, err := f.s.Log(f.ctx, id, before.LastPos, 1000)
		f.must(err)
		f.equal("the log after its end "+when, len(got), 0)
	}
	check("once marked")
	if steps := f.drop(50); steps < 5 {
		f.Errorf("250 records went in %d steps of 50", steps)
	}
	check("once deleted")
	page, err := f.s.Prunable(f.ctx, store.PruneQuery{Kind: store.PruneLogs, Org: org})
	f.must(err)
	f.equal("what may be pruned still", len(page.Items), 0)
	entries, err := f.s.AllEntries(f.ctx, id, "", 1000)
	f.must(err)
	f.equal("the entries", len(entries.Items), 250)
}

func (f *fixture) checkpoints(id uuid.UUID, states ...perdure.Checkpoint) {
	f.Helper()
	for _, c := range states {
		f.change(id, func(s *store.State) *store.Changes {
			s.Execution.CheckpointSeq++
			c.Sequence = s.Execution.CheckpointSeq
			if c.State == nil && c.Blob == nil {
				c.State = json.RawMessage(`{}`)
			}
			return &store.Changes{Execution: s.Execution, Checkpoint: &c}
		})
	}
}

func (f *fixture) sequences(id uuid.UUID) []int64 {
	f.Helper()
	page, err := f.s.Checkpoints(f.ctx, id, "", 100)
	f.must(err)
	var all []int64
	for _, c := range page.Items {
		all = append(all, c.Sequence)
	}
	return all
}

func checkpointsGo(f *fixture) {
	id := f.start()
	at := func(ms int64) perdure.Checkpoint { return perdure.Checkpoint{CreatedAt: milestone(ms)} }
	f.checkpoints(id, at(10), at(20), at(30), at(40))
	f.prune(id, store.Prune{Checkpoints: ptr(milestone(9)), Rows: 10})
	f.equal("before any is old", f.sequences(id), []int64{1, 2, 3, 4})
	f.prune(id, store.Prune{Checkpoints: ptr(milestone(30)), Rows: 2})
	f.equal("after two of three", f.sequences(id), []int64{3, 4})
	f.prune(id, store.Prune{Checkpoints: ptr(milestone(30)), Rows: 2})
	f.equal("after the third", f.sequences(id), []int64{4})
	f.prune(id, store.Prune{Checkpoints: ptr(milestone(1_000)), Rows: 10})
	f.equal("when the newest is old, too", f.sequences(id), []int64{4})
	f.checkpoints(id, at(50))
	f.prune(id, store.Prune{Checkpoints: ptr(milestone(1_000)), Rows: 10})
	f.equal("after another", f.sequences(id), []int64{5})
}

func checkpointBlobs(f *fixture) {
	id := f.start()
	alone, shared, newest := f.upload(id, jsonText(200_000), perdure.BlobChunk), f.upload(id, jsonText(70_000), perdure.BlobChunk), f.upload(id, jsonText(70_001), perdure.BlobChunk)
	f.change(id, func(*store.State) *store.Changes {
		t := wholeTask(id)
		t.Input, t.InputBlob = nil, &shared
		return &store.Changes{Tasks: []*perdure.Task{t}, OwnBlobs: []uuid.UUID{alone.ID, shared.ID, newest.ID}}
	})
	asked := f.upload(id, jsonText(70_002), perdure.BlobChunk)
	f.ask(id, f.question(id, "large", func(q *perdure.Question) { q.DetailsBlob = &asked }))
	for _, ref := range []perdure.BlobRef{alone, shared, asked, newest} {
		f.checkpoints(id, perdure.Checkpoint{Blob: &ref, CreatedAt: milestone(1)})
	}
	f.prune(id, store.Prune{Checkpoints: ptr(f.s.Now()), Rows: 10})
	_, err := f.s.Blob(f.ctx, id, alone.ID)
	f.wantCode(err, perdure.NotFound)
	if steps := f.drop(8); steps < 3 {
		f.Errorf("a blob of four rows went in %d steps of one", steps)
	}
	for _, ref := range []perdure.BlobRef{shared, asked, newest} {
		if got := f.blob(id, ref.ID); int64(len(got)) != ref.Length {
			f.Errorf("a blob that is still named has %d bytes of %d", len(got), ref.Length)
		}
	}
	f.equal("the log, which is not pruned", f.head(id).FirstPos, int64(0))
}

func pagesAreFreed(f *fixture) {
	id := f.start()
	f.upload(id, random(4<<20), perdure.BlobChunk)
	f.endExecution(id, f.s.Now())
	f.prune(id, store.Prune{Execution: true})
	f.drop(1000)
	last, _, err := f.s.Unused(f.ctx)
	f.must(err)
	for last > 0 {
		f.do(store.Command{Lane: store.LaneSweeps, Decide: func(*store.State) (*store.Changes, error) { return &store.Changes{Free: 100}, nil }})
		left, _, err := f.s.Unused(f.ctx)
		f.must(err)
		if left >= last {
			f.Fatalf("%d unused pages are %d after 100 were given back", last, left)
		}
		last = left
	}
}
