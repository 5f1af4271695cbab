package storetest

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var leaseTests = map[string]func(*fixture){
	"due timers are picked, the earliest first":        picksTimers,
	"expired leases of agents are picked":              picksExpiredAgents,
	"expired leases of tasks are picked":               picksExpiredTasks,
	"leases of embedded workers are picked, each once": picksEmbedded,
	"overdue cancels are picked":                       picksOverdue,
	"tasks past their deadline are picked":             picksDeadlines,
	"attempts that go on for too long are picked":      picksAttempts,
	"young loose blobs are neither picked nor swept":   picksLooseBlobs,
}

func (f *fixture) leased(status perdure.Status, left time.Duration, edit ...func(*perdure.Execution)) uuid.UUID {
	f.Helper()
	return f.start(append([]func(*perdure.Execution){func(x *perdure.Execution) {
		x.Status, x.WorkerID, x.ClaimID, x.LeaseUntil = status, ptr(uuid.New()), uuid.New(), f.ago(-left)
		x.Fence = 1
	}}, edit...)...)
}

func (f *fixture) leasedTask(execution uuid.UUID, left time.Duration, edit ...func(*perdure.Task)) uuid.UUID {
	f.Helper()
	t := &perdure.Task{
		ID: uuid.New(), ExecutionID: execution, Org: org, Kind: "k", Status: perdure.TaskRunning, Queue: "q", Attempt: 1,
		WorkerID: ptr(uuid.New()), ClaimID: uuid.New(), LeaseUntil: f.ago(-left), CreatedAt: f.s.Now(), StartedAt: ptr(f.s.Now()),
	}
	for _, change := range edit {
		change(t)
	}
	f.putTask(t)
	return t.ID
}

// bothWays checks that a pick finds the wanted candidates, in order, both for the org of the tests
// and for all orgs together. A pick for another org must find none.
func (f *fixture) bothWays(known map[string]uuid.UUID, kind store.PickKind, want ...string) {
	f.Helper()
	f.equal("the picked of every org", names(known, f.picked("", store.Pick{Kind: kind})), want)
	f.equal("the picked", names(known, f.picked(org, store.Pick{Kind: kind})), want)
	f.equal("the picked of another org", names(known, f.picked("other", store.Pick{Kind: kind})), nil)
	f.equal("the first", names(known, f.picked("", store.Pick{Kind: kind, Limit: 1})), want[:1])
}

func picksTimers(f *fixture) {
	timer := func(wait time.Duration) uuid.UUID {
		id := f.start()
		f.change(id, func(s *store.State) *store.Changes { return &store.Changes{Timer: ptr(s.Now.Add(wait))} })
		return id
	}
	known := map[string]uuid.UUID{"due": timer(-time.Second), "long due": timer(-time.Hour), "later": timer(time.Hour)}
	moved := timer(-time.Minute)
	f.change(moved, func(s *store.State) *store.Changes { return &store.Changes{Timer: ptr(s.Now.Add(time.Minute))} })
	f.bothWays(known, store.PickTimers, "long due", "due")
}

func picksExpiredAgents(f *fixture) {
	known := map[string]uuid.UUID{
		"over":       f.leased(perdure.StatusRunning, -time.Second),
		"cancelling": f.leased(perdure.StatusCancelling, -time.Minute),
		"held":       f.leased(perdure.StatusRunning, time.Minute),
		"pending":    f.start(),
	}
	f.bothWays(known, store.PickExpiredAgents, "cancelling", "over")
}

func picksExpiredTasks(f *fixture) {
	id := f.start()
	known := map[string]uuid.UUID{
		"over": f.leasedTask(id, -time.Second),
		// This task is on a different queue than the others, so the pick has to search a second
		// part of the index.
		"long over": f.leasedTask(id, -time.Minute, func(t *perdure.Task) { t.Queue = "r" }),
		"held":      f.leasedTask(id, time.Minute),
		"pending":   f.leasedTask(id, -time.Hour, func(t *perdure.Task) { t.Status = perdure.TaskPending }),
	}
	f.bothWays(known, store.PickExpiredTasks, "long over", "over")
}

func picksEmbedded(f *fixture) {
	embedded := func(x *perdure.Execution) { x.Embedded = true }
	both := f.leased(perdure.StatusRunning, time.Minute, embedded)
	f.leasedTask(both, time.Minute, func(t *perdure.Task) { t.Embedded = true })
	f.leased(perdure.StatusRunning, -time.Minute)
	f.leasedTask(f.start(), time.Minute)
	known := map[string]uuid.UUID{"both": both}
	f.bothWays(known, store.PickEmbedded, "both")

	tasks := f.start()
	f.leasedTask(tasks, time.Minute, func(t *perdure.Task) { t.Embedded = true })
	f.leasedTask(tasks, time.Minute, func(t *perdure.Task) { t.Embedded = true })
	f.equal("how many are picked", len(f.picked("", store.Pick{Kind: store.PickEmbedded})), 2)
}

func picksOverdue(f *fixture) {
	by := func(left time.Duration) func(*perdure.Execution) {
		return func(x *perdure.Execution) { x.CancelBy = f.ago(-left) }
	}
	known := map[string]uuid.UUID{
		"overdue":  f.leased(perdure.StatusCancelling, time.Minute, by(-time.Second)),
		"has time": f.leased(perdure.StatusCancelling, time.Minute, by(time.Minute)),
		"runs":     f.leased(perdure.StatusRunning, time.Minute, by(-time.Minute)),
	}
	f.bothWays(known, store.PickCancelOverdue, "overdue")
}

func picksDeadlines(f *fixture) {
	id := f.start()
	aged := func(status perdure.TaskStatus, age, bound time.Duration) uuid.UUID {
		return f.leasedTask(id, time.Minute, func(t *perdure.Task) {
			t.Status, t.CreatedAt, t.Options.ScheduleToClose = status, f.ago(age), bound
			if status.Terminal() {
				t.CompletedAt = ptr(f.s.Now())
			}
		})
	}
	known := map[string]uuid.UUID{
		"runs":    aged(perdure.TaskRunning, time.Hour, time.Minute),
		"pending": aged(perdure.TaskPending, time.Hour, time.Second),
		"young":   aged(perdure.TaskRunning, time.Minute, time.Hour),
		"free":    aged(perdure.TaskRunning, time.Hour, 0),
		"ended":   aged(perdure.TaskCompleted, time.Hour, time.Minute),
	}
	f.bothWays(known, store.PickTaskDeadlines, "pending", "runs")
}

// picksLooseBlobs checks that a new blob without a reference is neither picked nor deleted. It cannot
// check older blobs: they are picked after an hour (store.LooseBlobAge).
func picksLooseBlobs(f *fixture) {
	id := f.start()
	loose := f.upload(id, []byte("loose"), 64<<10)
	if got := f.picked("", store.Pick{Kind: store.PickLooseBlobs}); len(got) != 0 {
		f.Errorf("a young blob is picked: %v", got)
	}
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{SweepBlobs: true} })
	f.equal("the young blob", string(f.blob(id, loose.ID)), "loose")
}
