package storetest

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var retentionTests = map[string]func(*fixture){
	"a policy comes back":                                   policyComesBack,
	"an execution's own policy stands over the org's":       ownPolicy,
	"what is kept no longer is found, and nothing else":     prunableFound,
	"what is older than asked is found, narrowed and paged": olderFound,
	"old checkpoints are found, the newest never":           oldCheckpointsFound,
	"a lazy reader leaves references":                       lazyReader,
}

func policyComesBack(f *fixture) {
	got, err := f.s.Retention(f.ctx, org)
	f.must(err)
	if got != nil {
		f.Errorf("an org that has said nothing has the policy %+v", got)
	}
	for _, p := range []perdure.Retention{
		{Executions: ptr(30 * perdure.Day), Checkpoints: ptr(perdure.Forever), Logs: ptr(perdure.Period(1500 * time.Millisecond))},
		{Executions: ptr(perdure.Forever), Checkpoints: ptr(perdure.Day), Logs: ptr(perdure.Forever)},
	} {
		f.must(f.outside(org, store.Changes{Retention: &p}))
		got, err = f.s.Retention(f.ctx, org)
		f.must(err)
		f.equal("the policy", got, &p)
	}
	got, err = f.s.Retention(f.ctx, "other")
	f.must(err)
	if got != nil {
		f.Errorf("another org has the policy %+v", got)
	}
}

// retained creates an ended execution. The parameter `own` is the execution's own retention policy,
// or nil. The parameter `ended` is the time since the execution ended.
func (f *fixture) retained(own *perdure.Retention, ended time.Duration) uuid.UUID {
	f.Helper()
	x := perdure.Execution{
		ID: uuid.New(), Org: org, Kind: "agent", Status: perdure.StatusPending, WakeReason: perdure.WakeStart,
		PersistenceMode: perdure.Remote, Queue: "default", Version: 1,
	}
	f.do(store.Command{Lane: store.LaneCommits, Execution: x.ID, Decide: func(s *store.State) (*store.Changes, error) {
		made := x
		made.CreatedAt, made.UpdatedAt, made.ReadyAt = s.Now, s.Now, s.Now
		l := logAt(s, store.Head{Epoch: 7})
		l.event(s, perdure.EventCreated)
		return &store.Changes{Execution: &made, Head: &l.head, Records: l.records, Retain: own}, nil
	}})
	f.endExecution(x.ID, f.ago(ended))
	return x.ID
}

func ownPolicy(f *fixture) {
	own := perdure.Retention{Executions: ptr(perdure.Day), Checkpoints: ptr(perdure.Forever)}
	id, plain := f.retained(&own, time.Hour), f.retained(nil, time.Hour)
	f.equal("with nothing said by the org", f.look(id, store.Needs{Retention: true}).Retention, own.Default())
	f.equal("with nothing said at all", f.look(plain, store.Needs{Retention: true}).Retention, perdure.Retention{}.Default())
	policy := perdure.Retention{Executions: ptr(2 * perdure.Day), Checkpoints: ptr(perdure.Day), Logs: ptr(perdure.Period(time.Hour))}
	f.must(f.outside(org, store.Changes{Retention: &policy}))
	f.equal("over the org's", f.look(id, store.Needs{Retention: true}).Retention, policy.Merge(own))
	f.equal("the org's", f.look(plain, store.Needs{Retention: true}).Retention, policy)
}

// prunable returns the ids of the executions that the query finds, read in pages.
func (f *fixture) prunable(q store.PruneQuery) []uuid.UUID {
	f.Helper()
	q.Org = org
	var ids []uuid.UUID
	for _, p := range pages(f, 2, func(cursor string, limit int) (store.Page[store.Prunable], error) {
		q.Cursor, q.Limit = cursor, limit
		return f.s.Prunable(f.ctx, q)
	}) {
		if p.Org != org || p.Kind != "agent" || p.Count < 1 || p.Since.IsZero() {
			f.Errorf("it finds %+v", p)
		}
		ids = append(ids, p.ID)
	}
	return ids
}

func prunableFound(f *fixture) {
	hour, ever := perdure.Period(time.Hour), perdure.Forever
	short, long, forEver := &perdure.Retention{Executions: &hour, Logs: &hour}, &perdure.Retention{Executions: ptr(100 * perdure.Day), Logs: ptr(100 * perdure.Day)}, &perdure.Retention{Executions: &ever, Logs: &ever}
	known := map[string]uuid.UUID{
		"plain, old": f.retained(nil, 48*time.Hour), "plain, older": f.retained(nil, 72*time.Hour), "plain, young": f.retained(nil, 23*time.Hour),
		"short, old": f.retained(short, 2*time.Hour), "short, young": f.retained(short, 30*time.Minute),
		"long": f.retained(long, 72*time.Hour), "for ever": f.retained(forEver, 72*time.Hour),
		"running": f.start(),
	}
	other := f.start(func(x *perdure.Execution) { x.Org = "other" })
	_ = other
	for _, kind := range []store.PruneKind{store.PruneExecutions, store.PruneLogs} {
		f.equal("without a policy of the org, of "+string(kind), names(known, f.prunable(store.PruneQuery{Kind: kind})), []string{"short, old"})
	}
	f.must(f.outside(org, store.Changes{Retention: &perdure.Retention{Executions: ptr(perdure.Day), Logs: ptr(perdure.Day)}}))
	for _, kind := range []store.PruneKind{store.PruneExecutions, store.PruneLogs} {
		f.equal("with a day of the org, of "+string(kind), names(known, f.prunable(store.PruneQuery{Kind: kind})),
			[]string{"plain, older", "plain, old", "short, old"})
	}
	f.prune(known["plain, old"], store.Prune{Log: true})
	f.prune(known["short, old"], store.Prune{Log: true})
	f.equal("logs after two were pruned", names(known, f.prunable(store.PruneQuery{Kind: store.PruneLogs})), []string{"plain, older"})
	f.equal("executions after two logs were pruned", len(f.prunable(store.PruneQuery{Kind: store.PruneExecutions})), 3)
	f.drop(1000)
}

func olderFound(f *fixture) {
	forEver := &perdure.Retention{Executions: ptr(perdure.Forever)}
	definition := wholeDefinition(org, "s")
	f.must(f.outside(org, store.Changes{Definition: definition}))
	known := map[string]uuid.UUID{"for ever": f.retained(forEver, 5*time.Hour), "old": f.retained(nil, 4*time.Hour), "young": f.retained(nil, time.Hour)}
	failed := f.start(func(x *perdure.Execution) { x.DefinitionID = &definition.ID })
	f.change(failed, func(s *store.State) *store.Changes {
		s.Execution.Status, s.Execution.CompletedAt, s.Execution.ErrorCode = perdure.StatusFailed, ptr(f.ago(3*time.Hour)), ptr(perdure.Internal)
		return &store.Changes{Execution: s.Execution}
	})
	known["failed"] = failed
	ask := func(q store.PruneQuery) []string {
		q.Kind, q.OlderThan = store.PruneExecutions, ptr(2*time.Hour)
		return names(known, f.prunable(q))
	}
	f.equal("older than two hours", ask(store.PruneQuery{}), []string{"for ever", "old", "failed"})
	f.equal("failed", ask(store.PruneQuery{Status: []perdure.Status{perdure.StatusFailed, perdure.StatusCancelled}}), []string{"failed"})
	f.equal("completed", ask(store.PruneQuery{Status: []perdure.Status{perdure.StatusCompleted}}), []string{"for ever", "old"})
	f.equal("of the definition", ask(store.PruneQuery{DefinitionID: &definition.ID}), []string{"failed"})
	f.equal("of another", ask(store.PruneQuery{DefinitionID: ptr(uuid.New())}), nil)
	_, err := f.s.Prunable(f.ctx, store.PruneQuery{Kind: store.PruneExecutions, Org: org, Cursor: "nonsense"})
	f.wantCode(err, perdure.InvalidArgument)
}

func oldCheckpointsFound(f *fixture) {
	made := func(age time.Duration) perdure.Checkpoint { return perdure.Checkpoint{CreatedAt: f.ago(age)} }
	day := 24 * time.Hour
	old, young, single := f.start(), f.start(), f.start()
	f.checkpoints(old, made(9*day), made(8*day), made(6*day), made(time.Hour))
	f.checkpoints(young, made(6*day), made(time.Hour))
	f.checkpoints(single, made(100*day))
	find := func() []store.Prunable {
		page, err := f.s.Prunable(f.ctx, store.PruneQuery{Kind: store.PruneCheckpoints, Org: org})
		f.must(err)
		slices.SortFunc(page.Items, func(a, b store.Prunable) int { return int(b.Count - a.Count) })
		return page.Items
	}
	found := find()
	if len(found) != 1 || found[0].ID != old || found[0].Count != 2 || found[0].Bytes != 4 {
		f.Errorf("by default it finds %+v, want the two of over seven days", found)
	}
	f.must(f.outside(org, store.Changes{Retention: &perdure.Retention{Checkpoints: ptr(5 * perdure.Day)}}))
	found = find()
	if len(found) != 2 || found[0].ID != old || found[0].Count != 3 || found[1].ID != young || found[1].Count != 1 {
		f.Errorf("with five days it finds %+v", found)
	}
	f.must(f.outside(org, store.Changes{Retention: &perdure.Retention{Checkpoints: ptr(perdure.Forever)}}))
	f.equal("with for ever", len(find()), 0)
}

func lazyReader(f *fixture) {
	id := f.start()
	content := jsonText(100_000)
	ref := f.upload(id, content, perdure.BlobChunk)
	entry, task := f.refersTo(id, ref)
	lazy := f.s.Lazy()
	left := func(what string, content []byte, got *perdure.BlobRef) {
		f.Helper()
		if content != nil {
			f.Errorf("%s is loaded", what)
		}
		f.equal(what, got, &ref)
	}
	x, err := lazy.Execution(f.ctx, org, id)
	f.must(err)
	left("the input", x.Input, x.InputBlob)
	left("the output", x.Output, x.OutputBlob)
	e, err := lazy.Entry(f.ctx, id, entry.ID)
	f.must(err)
	left("the entry", e.Content, e.Blob)
	page, err := lazy.AllEntries(f.ctx, id, "", 0)
	f.must(err)
	left("the listed entry", page.Items[0].Content, page.Items[0].Blob)
	for e, err := range lazy.Path(f.ctx, id, entry.ID, nil, 0, false) {
		f.must(err)
		left("the entry on the path", e.Content, e.Blob)
	}
	c, err := lazy.Checkpoint(f.ctx, id, 0)
	f.must(err)
	left("the checkpoint", c.State, c.Blob)
	signals, err := lazy.PendingSignals(f.ctx, id, nil, 0, 1)
	f.must(err)
	left("the signal", signals[0].Value, signals[0].Blob)
	tasks, err := lazy.Tasks(f.ctx, id, []uuid.UUID{task.ID}, false)
	f.must(err)
	left("the task's input", tasks[0].Input, tasks[0].InputBlob)
	left("the task's result", tasks[0].Result, tasks[0].ResultBlob)
	listed, err := lazy.ListTasks(f.ctx, id, true, "", 0)
	f.must(err)
	left("the listed task's input", listed.Items[0].Input, listed.Items[0].InputBlob)
}
