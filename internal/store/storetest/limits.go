package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var limitTests = map[string]func(*fixture){
	"a key bounds what runs, over executions and queues": limitsKeys,
	"a full key hides nobody else's tasks":               limitsHideNobody,
	"a place that is given back goes to the next":        limitsGiveBack,
	"a cancelled task takes no place with it":            limitsCancelled,
	"many pollers together keep to a key's limit":        limitsTogether,
	"a queue's limit bounds what runs of an org":         limitsQueues,
	"a command sees what is under its keys and queues":   limitsLoads,
}

// keyed creates a pending task of the org with a concurrency key.
func (f *fixture) keyed(execution uuid.UUID, key string, limit int, edit ...func(*perdure.Task)) uuid.UUID {
	f.Helper()
	t := &perdure.Task{
		ID: uuid.New(), ExecutionID: execution, Org: org, Kind: "k", Queue: "q", Status: perdure.TaskPending, CreatedAt: f.s.Now(),
		Options: perdure.TaskOptions{ConcurrencyKey: key, ConcurrencyLimit: limit},
	}
	for _, change := range edit {
		change(t)
	}
	f.do(store.Command{Org: t.Org, Execution: execution, Decide: func(*store.State) (*store.Changes, error) {
		return &store.Changes{Tasks: []*perdure.Task{t}}, nil
	}})
	return t.ID
}

func older(d time.Duration) func(*perdure.Task) {
	return func(t *perdure.Task) { t.CreatedAt = t.CreatedAt.Add(-d) }
}

// claimTasks picks at most `limit` tasks and claims them as the engine does. It returns the ids of
// the claimed tasks, in the order of the claims.
func (f *fixture) claimTasks(limit int, edit ...func(*store.Pick)) []uuid.UUID {
	f.Helper()
	p := &store.Pick{Kind: store.PickTasks, Queues: []string{"q", "q2"}, Kinds: []string{"k"}, Limit: limit}
	for _, change := range edit {
		change(p)
	}
	var got []uuid.UUID
	for _, answer := range f.do(store.Command{Org: org, Pick: p, Decide: claimTask(p)}) {
		got = append(got, answer.(uuid.UUID))
	}
	return got
}

func claimTask(p *store.Pick) func(s *store.State) (*store.Changes, error) {
	return func(s *store.State) (*store.Changes, error) {
		t := s.Tasks[*s.PickedTask]
		if key := t.Options.ConcurrencyKey; key != "" && s.Keys[key].Running >= t.Options.ConcurrencyLimit {
			return nil, nil
		}
		if limit, limited := p.QueueLimits[t.Queue]; limited && s.Queues[t.Queue].Running >= limit {
			return nil, nil
		}
		t.Status, t.WorkerID, t.ClaimID, t.LeaseUntil = perdure.TaskRunning, ptr(uuid.New()), uuid.New(), s.Now.Add(time.Minute)
		t.StartedAt = ptr(s.Now)
		return &store.Changes{Tasks: []*perdure.Task{t}, Answer: t.ID}, nil
	}
}

func (f *fixture) end(execution uuid.UUID, status perdure.TaskStatus, ids ...uuid.UUID) {
	f.Helper()
	f.do(store.Command{
		Execution: execution,
		Needs:     func(*perdure.Execution) store.Needs { return store.Needs{Tasks: ids} },
		Decide: func(s *store.State) (*store.Changes, error) {
			var c store.Changes
			for _, id := range ids {
				t := s.Tasks[id]
				t.Status, t.WorkerID, t.LeaseUntil = status, nil, perdure.Time{}
				if t.CompletedAt = nil; status.Terminal() {
					t.CompletedAt = ptr(s.Now)
				}
				c.Tasks = append(c.Tasks, t)
			}
			return &c, nil
		},
	})
}

func limitsKeys(f *fixture) {
	one, two, foreign := f.start(), f.start(), f.start(func(x *perdure.Execution) { x.Org = "other" })
	known := map[string]uuid.UUID{
		"first":     f.keyed(one, "db", 2, older(3*time.Second)),
		"second":    f.keyed(two, "db", 2, older(2*time.Second), func(t *perdure.Task) { t.Queue = "q2" }),
		"third":     f.keyed(two, "db", 2, older(time.Second)),
		"other key": f.keyed(two, "web", 1),
	}
	theirs := f.keyed(foreign, "db", 1, func(t *perdure.Task) { t.Org = "other" })
	f.equal("the claimed", names(known, f.claimTasks(10)), []string{"first", "second", "other key"})
	f.equal("the claimed then", names(known, f.claimTasks(10)), nil)
	answers := f.do(store.Command{Org: "other", Pick: &store.Pick{Kind: store.PickTasks, Queues: []string{"q"}, Kinds: []string{"k"}}, Decide: claimTask(&store.Pick{})})
	f.equal("another org's claimed", answers, []any{theirs})
}

// limitsHideNobody checks that a task without a limit is claimed although 50 older tasks cannot be
// claimed, because their concurrency key has reached its limit.
func limitsHideNobody(f *fixture) {
	id := f.start()
	for range 50 {
		f.keyed(id, "full", 1, older(time.Hour))
	}
	free := f.keyed(id, "", 0)
	known := map[string]uuid.UUID{"free": free}
	got := f.claimTasks(2)
	if len(got) != 2 || got[1] != free {
		f.Errorf("a poll with two slots claimed %v, want one of the key and the free task", names(known, got))
	}
	last := f.keyed(id, "", 0)
	f.equal("the claimed then", f.claimTasks(2), []uuid.UUID{last})
}

func limitsGiveBack(f *fixture) {
	id := f.start()
	urgent := func(t *perdure.Task) { t.Options.Priority = ptr(1) }
	known := map[string]uuid.UUID{
		"runs":   f.keyed(id, "key", 1, older(time.Hour)),
		"old":    f.keyed(id, "key", 1, older(time.Minute)),
		"young":  f.keyed(id, "key", 1, older(time.Second)),
		"urgent": uuid.Nil,
	}
	f.equal("the first", names(known, f.claimTasks(1)), []string{"runs"})
	f.equal("while it runs", names(known, f.claimTasks(9)), nil)
	known["urgent"] = f.keyed(id, "key", 1, urgent)
	f.equal("an urgent one while it runs", names(known, f.claimTasks(9)), nil)
	f.end(id, perdure.TaskCompleted, known["runs"])
	f.equal("after its end", names(known, f.claimTasks(9)), []string{"urgent"})
	// A task that waits for its retry does not count against the limit of its key. This task has
	// the highest priority of its key, so it is the first that can be claimed.
	f.end(id, perdure.TaskPending, known["urgent"])
	f.equal("after it was put back", names(known, f.claimTasks(9)), []string{"urgent"})
	f.end(id, perdure.TaskFailed, known["urgent"])
	f.equal("after its failure", names(known, f.claimTasks(9)), []string{"old"})
	f.end(id, perdure.TaskInterrupted, known["old"])
	f.equal("after an interruption", names(known, f.claimTasks(9)), []string{"young"})
}

func limitsCancelled(f *fixture) {
	id := f.start()
	first, second, third := f.keyed(id, "key", 1, older(3*time.Second)), f.keyed(id, "key", 1, older(2*time.Second)), f.keyed(id, "key", 1, older(time.Second))
	fourth := f.keyed(id, "key", 1)
	f.equal("the first", f.claimTasks(9), []uuid.UUID{first})
	f.equal("while it runs", f.claimTasks(9), nil)
	f.end(id, perdure.TaskCancelled, fourth) // ends while it is not the next task of the key
	f.end(id, perdure.TaskCompleted, first)
	f.end(id, perdure.TaskCancelled, second) // ends while it is the next task of the key
	f.equal("after the cancel", f.claimTasks(9), []uuid.UUID{third})
	f.end(id, perdure.TaskCompleted, third)
	// The task `fourth` was cancelled while the limit of its key prevented its claim. After it is
	// PENDING again, it can be claimed.
	f.end(id, perdure.TaskPending, fourth)
	f.equal("the one made anew", f.claimTasks(9), []uuid.UUID{fourth})
}

func limitsTogether(f *fixture) {
	id := f.start()
	for range 20 {
		f.keyed(id, "key", 3)
	}
	p := &store.Pick{Kind: store.PickTasks, Queues: []string{"q"}, Kinds: []string{"k"}, Limit: 2}
	var mu sync.Mutex
	claimed := 0
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			answers, err := f.s.Do(f.ctx, store.Command{Org: org, Pick: p, Decide: claimTask(p)})
			f.noError(err)
			mu.Lock()
			defer mu.Unlock()
			claimed += len(answers)
		})
	}
	wg.Wait()
	f.equal("how many were claimed", claimed, 3)
}

func limitsQueues(f *fixture) {
	id := f.start()
	for i := range 6 {
		f.keyed(id, "", 0, func(t *perdure.Task) {
			if i >= 3 {
				t.Queue = "q2"
			}
		})
	}
	two := func(p *store.Pick) { p.QueueLimits = map[string]int{"q": 2, "q3": 1} }
	first := f.claimTasks(9, two)
	f.equal("how many are claimed", len(first), 5)
	f.equal("how many then", len(f.claimTasks(9, two)), 0)
	var onQ []uuid.UUID
	for _, t := range first {
		if f.task(id, t).Queue == "q" {
			onQ = append(onQ, t)
		}
	}
	f.equal("how many run on the queue", len(onQ), 2)
	f.end(id, perdure.TaskCompleted, onQ[0])
	f.equal("how many after an end", len(f.claimTasks(9, two)), 1)
}

func limitsLoads(f *fixture) {
	id := f.start()
	for range 3 {
		f.keyed(id, "key", 2)
	}
	f.claimTasks(2)
	f.keyed(id, "later", 1, func(t *perdure.Task) { t.NotBefore = f.s.Now().Add(time.Hour) })
	var seen *store.State
	f.do(store.Command{
		Execution: f.start(),
		Needs: func(*perdure.Execution) store.Needs {
			return store.Needs{ConcurrencyKeys: []string{"key", "later", "none"}, Queues: []string{"q", "q2"}}
		},
		Decide: func(s *store.State) (*store.Changes, error) { seen = s; return nil, nil },
	})
	f.equal("the keys", fmt.Sprint(seen.Keys), fmt.Sprint(map[string]store.Load{"key": {Running: 2, Waiting: true}, "later": {}, "none": {}}))
	f.equal("the queues", fmt.Sprint(seen.Queues), fmt.Sprint(map[string]store.Load{"q": {Running: 2, Waiting: true}, "q2": {}}))
}
