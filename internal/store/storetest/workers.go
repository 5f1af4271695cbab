package storetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var workerTests = map[string]func(*fixture){
	"every field of a worker comes back, with what it holds": workerFields,
	"workers are listed page by page and forgotten":          workersListed,
	"queues are counted by what waits and what runs":         queuesCounted,
	"counts of queues are bounded":                           queuesBounded,
	"queues are listed page by page from every source":       queuesListed,
	"a pause is stored once and deleted":                     queuePauses,
}

func (f *fixture) worker(of string, edit ...func(*perdure.WorkerInfo)) *perdure.WorkerInfo {
	f.Helper()
	w := &perdure.WorkerInfo{
		ID: uuid.Must(uuid.NewV7()), Org: of, Queues: []string{"default"}, Agents: []string{"agent"}, Tasks: []string{},
		RegisteredAt: f.s.Now(), LastSeenAt: f.s.Now(),
	}
	for _, change := range edit {
		change(w)
	}
	f.withWorkers(of, store.Changes{Workers: []*perdure.WorkerInfo{w}})
	return w
}

func (f *fixture) withWorkers(of string, ch store.Changes) {
	f.Helper()
	f.do(store.Command{
		Lane: store.LaneCommits, Org: of,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Workers: true} },
		Decide: func(*store.State) (*store.Changes, error) { return &ch, nil },
	})
}

func (f *fixture) workers(of string, since perdure.Time) []*perdure.WorkerInfo {
	f.Helper()
	all, err := f.s.Workers(f.ctx, of, since, uuid.Nil, 100)
	f.must(err)
	return all
}

func workerFields(f *fixture) {
	w := f.worker(org, func(w *perdure.WorkerInfo) {
		w.Version, w.Queues, w.Agents, w.Tasks, w.AgentSlots, w.TaskSlots, w.Embedded = "v1 ä", []string{"a", "b"}, []string{"x"}, []string{"t"}, 7, 9, true
	})
	f.equal("the workers", f.workers(org, perdure.Time{}), []*perdure.WorkerInfo{w})
	f.equal("another org's workers", len(f.workers("other", perdure.Time{})), 0)
	f.equal("the workers counted", f.look(uuid.Nil, store.Needs{Workers: true}).WorkerCount, 1)
	x := f.leased(perdure.StatusRunning, time.Minute, func(x *perdure.Execution) { x.WorkerID = &w.ID })
	task := f.leasedTask(x, time.Minute, func(t *perdure.Task) { t.WorkerID = &w.ID })
	f.leased(perdure.StatusRunning, time.Minute, func(x *perdure.Execution) { x.WorkerID = ptr(uuid.New()) })
	stored := f.task(x, task)
	w.Holding = 2
	w.Holds = []perdure.WorkerHold{{ExecutionID: x, Kind: "agent", Queue: "default"}, {ExecutionID: x, TaskID: &task, Kind: stored.Kind, Queue: stored.Queue}}
	f.equal("the workers with what they hold", f.workers(org, perdure.Time{}), []*perdure.WorkerInfo{w})
}

func workersListed(f *fixture) {
	now := f.s.Now()
	var ids []uuid.UUID
	for i := range 5 {
		ids = append(ids, f.worker(org, func(w *perdure.WorkerInfo) { w.LastSeenAt = now.Add(-time.Duration(i) * time.Hour) }).ID)
	}
	var got []uuid.UUID
	for after := uuid.Nil; ; {
		page, err := f.s.Workers(f.ctx, org, now.Add(-3*time.Hour-time.Second), after, 2)
		f.must(err)
		if len(page) == 0 {
			break
		}
		for _, w := range page {
			got, after = append(got, w.ID), w.ID
		}
	}
	f.equal("the pages", got, ids[:4])
	old := now.Add(-90 * time.Minute)
	f.withWorkers(org, store.Changes{SeenWorkers: []uuid.UUID{ids[4], uuid.New()}, ForgetWorkers: &old})
	left := f.workers(org, perdure.Time{})
	if len(left) != 3 || left[2].ID != ids[4] || left[2].LastSeenAt.Before(now.Time) {
		f.Errorf("after those that were not seen were forgotten: %+v", left)
	}
}

func (f *fixture) queues(of, after string, limit int) []*perdure.QueueInfo {
	f.Helper()
	all, err := f.s.Queues(f.ctx, of, f.s.Now().Add(-perdure.WorkerPresence), after, limit)
	f.must(err)
	return all
}

func queuesCounted(f *fixture) {
	on := func(queue string, age, wait time.Duration) func(*perdure.Execution) {
		return func(x *perdure.Execution) {
			x.Queue, x.ReadyAt = queue, f.ago(age)
			x.NotBefore = x.ReadyAt
			if wait > 0 {
				x.NotBefore = f.s.Now().Add(wait)
			}
		}
	}
	oldest := f.ago(time.Hour)
	f.start(on("a", time.Minute, 0))
	f.start(func(x *perdure.Execution) { x.Queue, x.ReadyAt, x.NotBefore = "a", oldest, oldest }, crashed(store.AloneScore))
	f.start(on("a", time.Minute, time.Hour)) // this execution is delayed and does not count
	f.start(on("a", time.Minute, 0), func(x *perdure.Execution) { x.Org = "other" })
	w := f.worker(org, func(w *perdure.WorkerInfo) { w.Queues = []string{"a", "b"} })
	f.worker(org, func(w *perdure.WorkerInfo) { w.Queues, w.LastSeenAt = []string{"a", "gone"}, f.ago(time.Hour) })
	x := f.leased(perdure.StatusRunning, time.Minute, func(x *perdure.Execution) { x.Queue, x.WorkerID = "a", &w.ID })
	f.leasedTask(x, time.Minute, func(t *perdure.Task) { t.Queue, t.WorkerID = "c", &w.ID })
	got := f.queues(org, "", 10)
	f.equal("the queues", got, []*perdure.QueueInfo{
		{Name: "a", Waiting: 2, OldestAt: &oldest, Running: 1, Workers: 1, Served: true},
		{Name: "b", Workers: 1, Served: true},
		{Name: "c", Running: 1},
	})
}

func queuesBounded(f *fixture) {
	for range perdure.MaxQueueCount + 1 {
		f.start(func(x *perdure.Execution) { x.Queue = "many" })
	}
	if got := f.queues(org, "", 10); len(got) != 1 || got[0].Waiting != perdure.MaxQueueCount {
		f.Errorf("the queue with more than a count counts: %+v", got)
	}
}

func queuesListed(f *fixture) {
	var want []string
	for i := range 4 {
		name := fmt.Sprintf("q%d-", i)
		f.start(func(x *perdure.Execution) { x.Queue = name + "agents" })
		f.start(func(x *perdure.Execution) { x.Queue = name + "alone" }, crashed(store.AloneScore))
		f.pause(org, name+"paused")
		f.worker(org, func(w *perdure.WorkerInfo) { w.Queues = []string{name + "served"} })
		want = append(want, name+"agents", name+"alone", name+"paused", name+"served")
	}
	for limit := 1; limit <= 5; limit++ {
		var got []string
		for after := ""; ; {
			page := f.queues(org, after, limit)
			if len(page) == 0 {
				break
			}
			for _, q := range page {
				got, after = append(got, q.Name), q.Name
			}
		}
		f.equal(fmt.Sprintf("pages of %d", limit), got, want)
	}
}

func (f *fixture) changePause(of, queue string, ch store.Changes) (seen *store.State) {
	f.Helper()
	f.do(store.Command{
		Lane: store.LaneCommits, Org: of,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Pause: queue} },
		Decide: func(s *store.State) (*store.Changes, error) { seen = s; return &ch, nil },
	})
	return seen
}

func (f *fixture) pause(of, queue string) *perdure.QueuePause {
	f.Helper()
	p := &perdure.QueuePause{Org: of, Queue: queue, At: f.s.Now()}
	f.changePause(of, queue, store.Changes{PauseQueue: p})
	return p
}

func queuePauses(f *fixture) {
	a, b := f.pause(org, "ä"), f.pause(org, "b")
	f.pause("other", "b")
	all, err := f.s.QueuePauses(f.ctx, org)
	f.must(err)
	f.equal("the pauses", all, []*perdure.QueuePause{b, a})
	s := f.changePause(org, "b", store.Changes{ResumeQueue: "b"})
	f.equal("the pause decided on", s.Pause, b)
	f.equal("the pauses counted", s.PauseCount, 2)
	s = f.changePause(org, "b", store.Changes{ResumeQueue: "b"})
	f.equal("the pause after its end", s.Pause, nil)
	all, err = f.s.QueuePauses(f.ctx, org)
	f.must(err)
	f.equal("the pauses that are left", all, []*perdure.QueuePause{a})
	if q := f.queues(org, "b", 5); len(q) != 1 || !q[0].Paused || q[0].PausedAt == nil || !q[0].PausedAt.Equal(a.At.Time) {
		f.Errorf("the queues: %+v", q)
	}
}
