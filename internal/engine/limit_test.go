package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
)

func under(key string, limit int) func(*perdure.TaskOptions) {
	return func(o *perdure.TaskOptions) { o.ConcurrencyKey, o.ConcurrencyLimit = key, limit }
}

// eagerly makes a commit that schedules the tasks and offers to run them at once. It returns the
// claims in the reply.
func (h *holder) eagerly(tasks ...perdure.NewTask) []perdure.TaskClaim {
	h.Helper()
	return h.commit(func(c *perdure.Commit) {
		c.Tasks = tasks
		c.Offer = perdure.TaskOffer{WorkerID: h.worker, Kinds: []string{"work"}, Queues: []string{"default"}, Slots: 9}
	}).Claims
}

func claimedIDs(claims []perdure.TaskClaim) []uuid.UUID {
	var ids []uuid.UUID
	for _, c := range claims {
		ids = append(ids, c.Lease.TaskID)
	}
	return ids
}

// waitingPoll polls for a task of the queue in the background, and returns once the poll has found
// nothing and waits. It must run in a bubble (testing/synctest). The poll waits for a minute, in
// which only a hint makes it try again.
func (b *bench) waitingPoll(queue string) <-chan []perdure.TaskClaim {
	got := make(chan []perdure.TaskClaim, 1)
	p := b.poll(1)
	p.Queues, p.Wait = []string{queue}, time.Minute
	go func() {
		claims, err := b.d.PollTasks(b.Context(), p)
		if err != nil {
			b.Error(err)
		}
		got <- claims
	}()
	synctest.Wait()
	return got
}

// TestConcurrencyKeyBoundsPollsAndEagerClaims checks that tasks with the same concurrency key run
// one at a time, in all executions together. The limit holds for claims by polls and for claims in
// the reply to a commit.
func TestConcurrencyKeyBoundsPollsAndEagerClaims(t *testing.T) {
	b := newBench(t)
	one, two := b.started(), b.started()
	first := one.eagerly(one.newTask("1", under("db", 0)), one.newTask("2", under("db", 0)), one.newTask("3"))
	if len(first) != 2 {
		t.Fatalf("a commit with two tasks of a key of one place and a free one claimed %d, want 2", len(first))
	}
	if got := two.eagerly(two.newTask("4", under("db", 0))); len(got) != 0 {
		t.Error("another execution's commit claimed under a full key")
	}
	if got := b.taskClaims(); len(got) != 0 {
		t.Fatalf("a poll claimed %d under a full key", len(got))
	}
	b.finish(done(first[0], "1"))
	next := b.taskClaim()
	if next.Lease.TaskID != perdure.TaskID(one.newTask("2").Key) {
		t.Error("the place went to another than the oldest")
	}
	// The end of this task makes room for one other task: for the one that already waits, not for a
	// new one.
	b.finish(done(next, "1"))
	if got := one.eagerly(one.newTask("5", under("db", 0))); len(got) != 0 {
		t.Error("a new task passed one that waits for the key")
	}
}

// TestFreedPlaceIsToldOf checks that each kind of end of an attempt sends a hint, so that the next
// task with the same concurrency key starts at once. Config.Tick, the interval at which polls read
// the store without a hint, is one hour. So only a hint lets the poll find the task.
func TestFreedPlaceIsToldOf(t *testing.T) {
	for name, end := range map[string]func(h *holder, c perdure.TaskClaim){
		"completed":         func(h *holder, c perdure.TaskClaim) { h.finish(done(c, "1")) },
		"failed":            func(h *holder, c perdure.TaskClaim) { h.finish(failed(c, true)) },
		"to be tried again": func(h *holder, c perdure.TaskClaim) { h.finish(failed(c, false)) },
		"cancelled": func(h *holder, c perdure.TaskClaim) {
			h.commit(func(commit *perdure.Commit) { commit.CancelTask = []uuid.UUID{c.Lease.TaskID} })
		},
		"its execution ended": func(h *holder, _ perdure.TaskClaim) { h.commit(completing()) },
	} {
		t.Run(name, func(t *testing.T) { bubble.Test(t, func(t *testing.T) { freedPlace(newBench(t), end) }) })
	}
}

// freedPlace schedules two tasks with one concurrency key on two queues. It ends the first task by
// calling the function `end`, and checks that a waiting poll then gets the second task.
func freedPlace(b *bench, end func(h *holder, c perdure.TaskClaim)) {
	one, two := b.started(), b.started()
	one.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{one.newTask("1", under("key", 1))} })
	keyed := b.taskClaim()
	next := two.newTask("2", under("key", 1), func(o *perdure.TaskOptions) { o.Queue = "narrow" })
	two.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{next} })
	got := b.waitingPoll("narrow")
	end(one, keyed)
	if claims := <-got; len(claims) != 1 || claims[0].Lease.TaskID != perdure.TaskID(next.Key) {
		b.Errorf("the poll that waited got %d tasks", len(claims))
	}
}

func TestQueueLimitBoundsAnOrg(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.e.QueueLimits = map[string]int{"default": 2}
		h := b.started()
		claimed := h.eagerly(h.newTask("1"), h.newTask("2"), h.newTask("3"), h.newTask("4", func(o *perdure.TaskOptions) { o.Queue = "other" }))
		if len(claimed) != 2 {
			t.Fatalf("the commit claimed %d, want 2", len(claimed))
		}
		if got := b.taskClaims(); len(got) != 0 {
			t.Fatalf("a poll claimed %d on a full queue", len(got))
		}
		waiting := b.waitingPoll("default")
		b.finish(done(claimed[0], "1"))
		if got := claimedIDs(<-waiting); len(got) != 1 || got[0] != perdure.TaskID(h.newTask("3").Key) {
			t.Errorf("the place went to %v", got)
		}
		p := b.poll(9)
		p.Queues = []string{"other"}
		other, err := b.d.PollTasks(t.Context(), p)
		b.must(err)
		if len(other) != 1 {
			t.Error("the limit of one queue bounds another")
		}
	})
}

// TestPriorityThenAge checks that tasks that wait for a concurrency key are claimed in the order of
// their Priority numbers, the lowest first. Of tasks with the same number, the oldest is claimed
// first.
func TestPriorityThenAge(t *testing.T) {
	b := newBench(t)
	h := b.started()
	scheduled := func(name string, priority int) uuid.UUID {
		n := h.newTask(`"`+name+`"`, under("key", 1), func(o *perdure.TaskOptions) { o.Priority = &priority })
		h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{n} })
		b.clock.advance(time.Millisecond)
		return perdure.TaskID(n.Key)
	}
	scheduled("runs", 9)
	c := b.taskClaim()
	last, old, young, urgent := scheduled("last", 9), scheduled("old", 5), scheduled("young", 5), scheduled("urgent", 0)
	for i, want := range []uuid.UUID{urgent, old, young, last} {
		if got := b.taskClaims(); len(got) != 0 {
			t.Fatalf("%d were claimed under a full key", len(got))
		}
		b.finish(done(c, "1"))
		if c = b.taskClaim(); c.Lease.TaskID != want {
			t.Errorf("turn %d went to task %s, want %s", i+1, c.Lease.TaskID, want)
		}
	}
}

func TestTaskOptionsAreChecked(t *testing.T) {
	b := newBench(t)
	h := b.started()
	long := make([]byte, 513)
	for i := range long {
		long[i] = 'x'
	}
	n := func(v int) *int { return &v }
	for field, edit := range map[string]func(*perdure.TaskOptions){
		"priority":         func(o *perdure.TaskOptions) { o.Priority = n(12) },
		"maxAttempts":      func(o *perdure.TaskOptions) { o.MaxAttempts = -1 },
		"backoffBase":      func(o *perdure.TaskOptions) { o.BackoffBase = -1 },
		"backoffMax":       func(o *perdure.TaskOptions) { o.BackoffMax = -1 },
		"scheduleToClose":  func(o *perdure.TaskOptions) { o.ScheduleToClose = -1 },
		"attemptTimeout":   func(o *perdure.TaskOptions) { o.AttemptTimeout = -1 },
		"heartbeatTimeout": func(o *perdure.TaskOptions) { o.HeartbeatTimeout = 1<<63 - 1 },
		"keyTtl":           func(o *perdure.TaskOptions) { o.KeyTTL = time.Hour },
		"key":              func(o *perdure.TaskOptions) { o.Key = string(long) },
		"instance":         func(o *perdure.TaskOptions) { o.Instance = string(long) },
		"queue":            func(o *perdure.TaskOptions) { o.Queue = "\xff" },
		"concurrencyKey":   func(o *perdure.TaskOptions) { o.ConcurrencyKey = string(long) },
		"concurrencyLimit": func(o *perdure.TaskOptions) { o.ConcurrencyLimit = 2 },
		"onLost":           func(o *perdure.TaskOptions) { o.OnLost = "panic" },
	} {
		task := h.newTask("1")
		edit(&task.Options)
		_, err := h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask("0"), task} })
		if !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s: %v, want invalid_argument", field, err)
			continue
		}
		if fields := err.(*perdure.Error).Fields; len(fields) != 1 || fields[0].Location != "tasks[1].options."+field {
			t.Errorf("%s: the error names %+v", field, fields)
		}
	}
	if n := b.count(h.id, perdure.EventTaskScheduled); n != 0 {
		t.Errorf("%d tasks of refused commits were stored", n)
	}
}
