package engine

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// compaction returns a compaction as a child of the entry parent. The compaction covers the entries
// up to `last`. The context then begins with the entry `keep`, or with the compaction if keep is
// nil.
func compaction(parent, last uuid.UUID, keep *uuid.UUID) perdure.NewEntry {
	e := message(&parent, perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Compaction("so far")}}})
	e.Type = perdure.EntryCompaction
	var err error
	e.Metadata, err = json.Marshal(perdure.CompactionRecord{Last: last, KeepFrom: keep, Pinned: []uuid.UUID{}, Reason: perdure.CompactionManual})
	if err != nil {
		panic(err)
	}
	return e
}

// compacted creates an execution with a compaction that keeps the newest of three entries, and
// claims the execution. It returns the entries.
func (b *bench) compacted() (*holder, []perdure.NewEntry) {
	b.Helper()
	h := b.started()
	all := []perdure.NewEntry{user(nil, "one")}
	for _, text := range []string{"two", "three"} {
		all = append(all, user(&all[len(all)-1].ID, text))
	}
	h.commit(func(c *perdure.Commit) {
		c.Entries = append(c.Entries, all...)
		all = append(all, compaction(all[2].ID, all[1].ID, &all[2].ID))
		c.Entries = append(c.Entries, all[3])
	})
	return h, all
}

func (b *bench) newPoll() perdure.Poll {
	p := b.poll(8)
	p.Features = perdure.AllFeatures
	return p
}

// TestExecutionsNeedFeatures checks an execution after its first compaction. Only workers that
// support compactions can claim the execution, or its tasks that read the execution's context. The
// test covers each of the ways in which workers get work.
func TestExecutionsNeedFeatures(t *testing.T) {
	b := newBench(t)
	h, _ := b.compacted()
	if x := b.execution(h.id); x.NeedsFeatures != perdure.FeatureContext {
		t.Fatalf("it needs %v", x.NeedsFeatures.Names())
	}
	reads := func(o *perdure.TaskOptions) { o.ReadsContext = true }
	offer := perdure.TaskOffer{WorkerID: b.worker, Kinds: []string{"work"}, Queues: []string{"default"}, Slots: 1}
	first := h.newTask(`1`, reads)
	reply := h.commit(func(c *perdure.Commit) { c.Tasks, c.Offer = []perdure.NewTask{first}, offer })
	if len(reply.Claims) != 0 {
		t.Error("an older worker claimed a task that reads the context with its commit")
	}
	h.schedule(`2`)
	if claims := b.taskClaims(); len(claims) != 1 || string(claims[0].Task.Input) != `2` {
		t.Errorf("an older worker claimed %+v", claims)
	}
	claims, err := b.d.PollTasks(t.Context(), b.newPoll())
	b.must(err)
	if len(claims) != 1 || claims[0].Lease.TaskID != perdure.TaskID(first.Key) {
		t.Fatalf("a worker with the feature claimed %+v", claims)
	}
	h.suspend(perdure.WaitTask(perdure.TaskID(first.Key)))
	end := done(claims[0], `1`)
	end.Parked = true
	if b.finish(end).Claim != nil {
		t.Error("an older worker got the execution with the end of a task")
	}
	if b.wantStatus(h.id, perdure.StatusPending); len(b.claims()) != 0 {
		t.Error("an older worker claimed the execution")
	}
	agents, err := b.d.PollAgents(t.Context(), b.newPoll())
	b.must(err)
	if len(agents) != 1 || agents[0].Lease.ExecutionID != h.id {
		t.Fatalf("a worker with the feature claimed %+v", agents)
	}
	next := &holder{bench: b, claim: agents[0], id: h.id}
	offer.Features = perdure.AllFeatures
	second := next.newTask(`3`, reads)
	reply = next.commit(func(c *perdure.Commit) { c.Tasks, c.Offer = []perdure.NewTask{second}, offer })
	if len(reply.Claims) != 1 {
		t.Fatal("a worker with the feature did not claim a task with its commit")
	}
	next.suspend(perdure.WaitTask(perdure.TaskID(second.Key)))
	end = perdure.TaskFinish{Lease: reply.Claims[0].Lease, Result: perdure.Inline([]byte(`3`)), Parked: true, Features: perdure.AllFeatures}
	if b.finish(end).Claim == nil {
		t.Error("a worker with the feature did not get the execution with the end of a task")
	}
}

// TestContextsComeFromTheCompaction checks which entries a worker gets for the context of a model
// call. The context begins with the first entry that the compaction keeps. If the worker already
// has some of these entries, it gets only the later ones.
func TestContextsComeFromTheCompaction(t *testing.T) {
	b := newBench(t)
	h, all := b.compacted()
	read := func(leaf uuid.UUID, after *uuid.UUID, want ...uuid.UUID) {
		t.Helper()
		var got []uuid.UUID
		for e, err := range b.d.Entries(t.Context(), perdure.EntryQuery{ExecutionID: h.id, Leaf: leaf, After: after, Context: true}) {
			b.must(err)
			got = append(got, e.ID)
		}
		b.equalIDs(got, want)
	}
	read(all[3].ID, nil, all[2].ID, all[3].ID)
	read(all[3].ID, &all[2].ID, all[3].ID)
	read(all[3].ID, &all[0].ID, all[2].ID, all[3].ID) // before the first kept entry
	read(all[1].ID, nil, all[0].ID, all[1].ID)        // a leaf before the compaction
}

func (b *bench) equalIDs(got, want []uuid.UUID) {
	b.Helper()
	if len(got) != len(want) {
		b.Fatalf("%d entries, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			b.Errorf("entry %d is %s, want %s", i, got[i], want[i])
		}
	}
}

// TestLocalCompaction checks that a LOCAL execution is compacted although its server has no metadata
// of entries. The commit must name the covered entries; a commit with no or wrong entries is refused.
func TestLocalCompaction(t *testing.T) {
	k := newKeeper(t)
	one := k.entry(user(nil, "one"))
	two := k.entry(user(&one.ID, "two"))
	k.commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{one, two} })
	summary := compaction(two.ID, one.ID, &two.ID)
	k.must(summary.EmbedMetadata())
	summary = k.entry(summary)
	for _, covers := range []*perdure.CompactionRange{nil, {}, {Last: uuid.New()}, {Last: one.ID, Pinned: make([]uuid.UUID, perdure.MaxPinned+1)}} {
		summary.Covers = covers
		if _, err := k.try(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{summary} }); err == nil {
			t.Errorf("%+v is accepted", covers)
		}
	}
	summary.Covers = &perdure.CompactionRange{Last: one.ID, KeepFrom: &two.ID}
	k.commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{summary} })
	var got []uuid.UUID
	for e, err := range k.d.Entries(t.Context(), perdure.EntryQuery{ExecutionID: k.id, Leaf: summary.ID, Context: true}) {
		k.must(err)
		got = append(got, e.ID)
	}
	k.equalIDs(got, []uuid.UUID{two.ID, summary.ID})
}
