package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var censusTests = map[string]func(*fixture){
	"what is pending is counted by queue":      countsQueues,
	"what waits and runs is counted":           countsStatuses,
	"the size grows with what is stored":       countsBytes,
	"the census of an empty store has nothing": countsNothing,
}

func (f *fixture) census() store.Census {
	f.Helper()
	c, err := f.s.Census(f.ctx)
	f.must(err)
	slices.SortFunc(c.Queues, func(a, b store.QueueCensus) int {
		if a.Tasks != b.Tasks {
			return map[bool]int{true: 1, false: -1}[a.Tasks]
		}
		return strings.Compare(a.Queue, b.Queue)
	})
	return c
}

func countsQueues(f *fixture) {
	pending := func(org, queue string, crashes int, ready, notBefore perdure.Time) uuid.UUID {
		return f.start(func(x *perdure.Execution) {
			x.Org, x.Queue, x.Crashes, x.ReadyAt, x.NotBefore = org, queue, crashes, ready, notBefore
		})
	}
	hour, minute := f.ago(time.Hour), f.ago(time.Minute)
	owner := pending(org, "a", 0, hour, perdure.Time{})
	pending("other", "a", 0, minute, perdure.Time{})
	pending(org, "a", store.AloneScore, f.ago(2*time.Hour), f.ago(-time.Hour)) // ready only in an hour
	pending(org, "b", store.AloneScore, hour, minute)                          // has been ready for a minute
	f.leased(perdure.StatusRunning, time.Hour, func(x *perdure.Execution) { x.Queue = "c" })
	f.keyed(owner, "", 0, older(time.Minute))
	f.keyed(owner, "", 0, func(t *perdure.Task) { t.NotBefore = f.ago(-time.Hour) })
	f.keyed(owner, "one", 1)
	f.claimTasks(1) // one task is running now
	f.keyed(owner, "one", 1, older(time.Hour))
	task := f.task(owner, f.keyed(owner, "", 0, func(t *perdure.Task) { t.Queue = "q2" }))
	since := f.census().Queues
	for i := range since {
		since[i].Since = perdure.At(since[i].Since.Time.Round(time.Second))
	}
	at := func(t perdure.Time) perdure.Time { return perdure.At(t.Time.Round(time.Second)) }
	var tasks []store.QueueCensus
	for _, q := range since {
		if q.Tasks {
			tasks = append(tasks, q)
		}
	}
	f.equal("queues of executions", since[:len(since)-len(tasks)], []store.QueueCensus{
		{Queue: "a", Pending: 3, Ready: 2, Since: at(hour)},
		{Queue: "b", Pending: 1, Ready: 1, Since: at(minute)},
	})
	f.equal("the number of queues of tasks", len(tasks), 2)
	f.equal("pending and ready on q", []int{tasks[0].Pending, tasks[0].Ready}, []int{3, 2})
	f.equal("q2", tasks[1], store.QueueCensus{Queue: "q2", Tasks: true, Pending: 1, Ready: 1, Since: at(task.CreatedAt)})
}

func countsStatuses(f *fixture) {
	f.leased(perdure.StatusRunning, time.Hour)
	f.leased(perdure.StatusRunning, time.Hour)
	f.leased(perdure.StatusCancelling, time.Hour)
	f.endExecution(f.start(), f.s.Now())
	waiting := func(reason string, w perdure.Wait) {
		f.start(func(x *perdure.Execution) { x.Status, x.WaitReason, x.Wait = perdure.StatusWaiting, reason, &w })
	}
	for range 3 {
		waiting("signal", perdure.Wait{Signal: "s"})
	}
	waiting("task", perdure.Wait{Task: ptr(uuid.New())})
	c := f.census()
	f.equal("held", c.Held, map[perdure.Status]int{perdure.StatusRunning: 2, perdure.StatusCancelling: 1})
	f.equal("waiting", c.Waiting, map[string]int{"signal": 3, "task": 1})
}

func countsBytes(f *fixture) {
	before := f.census().Bytes
	if before <= 0 {
		f.Errorf("an empty store takes %d bytes", before)
	}
	f.upload(f.start(), make([]byte, 4<<20), 64<<10)
	if after := f.census().Bytes; after <= before {
		f.Errorf("4 MiB more: %d bytes, then %d", before, after)
	}
}

func countsNothing(f *fixture) {
	c := f.census()
	f.equal("queues", c.Queues, []store.QueueCensus{})
	f.equal("held", c.Held, map[perdure.Status]int{})
	f.equal("waiting", c.Waiting, map[string]int{})
}
