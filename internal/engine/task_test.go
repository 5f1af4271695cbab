package engine

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// scheduled schedules one task with options and claims it.
func (h *holder) scheduled(input string, edit ...func(*perdure.TaskOptions)) (uuid.UUID, perdure.TaskClaim) {
	h.Helper()
	n := h.newTask(input, edit...)
	h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{n} })
	return perdure.TaskID(n.Key), h.taskClaim()
}

func TestScheduleAnswersByWhatIsThere(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1")
	if reply := h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask("1")} }); len(reply.Tasks) != 0 {
		t.Errorf("a task that runs answered %+v", reply.Tasks)
	}
	b.finish(done(c, `"out"`))
	reply := h.commit(func(c *perdure.Commit) {
		c.Tasks = []perdure.NewTask{h.newTask("1")}
		suspending(perdure.WaitTask(id))(c)
	})
	if reply.Suspended || len(reply.Tasks) != 1 || string(reply.Tasks[0].Result) != `"out"` {
		t.Errorf("a task that has completed answered %+v", reply)
	}
	if n := b.count(h.id, perdure.EventTaskScheduled); n != 1 {
		t.Errorf("%d tasks, want 1", n)
	}
	// Tasks whose inputs have the same canonical JSON are the same task, unless their Instance
	// differs.
	h.commit(func(c *perdure.Commit) {
		c.Tasks = []perdure.NewTask{
			h.newTask(`{"b":1,"a":2}`), h.newTask(`{"a": 2, "b": 1.0}`),
			h.newTask(`{"a":2,"b":1}`, func(o *perdure.TaskOptions) { o.Instance = "again" }),
		}
	})
	if n := b.count(h.id, perdure.EventTaskScheduled); n != 3 {
		t.Errorf("%d tasks, want 3", n)
	}
}

// TestTaskKeyIsTheExecutions checks that the same task key identifies different tasks in two
// executions, and that one execution cannot finish, cancel or wait for a task of the other
// execution.
func TestTaskKeyIsTheExecutions(t *testing.T) {
	b := newBench(t)
	mine := func(o *perdure.TaskOptions) { o.Key = "mine" }
	one := b.started()
	id1, c1 := one.scheduled("1", mine)
	two := b.started()
	id2, c2 := two.scheduled("2", mine)
	if id1 == id2 {
		t.Fatal("a caller's key is one task in two executions")
	}
	b.finish(done(c1, `"one"`))
	if got := b.task(two.id, id2).Status; got != perdure.TaskRunning {
		t.Errorf("the other execution's task is %s", got)
	}
	// A task is looked up by its id and its execution together.
	c2.Lease.ExecutionID = one.id
	_, err := b.d.FinishTask(t.Context(), done(c2, `"x"`))
	b.wantCode(err, perdure.NotFound)
	_, err = one.try(func(c *perdure.Commit) { c.CancelTask = []uuid.UUID{id2} })
	b.wantCode(err, perdure.NotFound)
	_, err = one.try(suspending(perdure.WaitTask(id2)))
	b.wantCode(err, perdure.InvalidArgument)
}

func TestCallersKeyWithOtherInputIsRefused(t *testing.T) {
	b := newBench(t)
	h := b.started()
	mine := func(o *perdure.TaskOptions) { o.Key = "mine" }
	_, c := h.scheduled(`{"a":1}`, mine)
	b.finish(done(c, `"one"`))
	for _, input := range []string{`{"a":2}`, `{"a": 1}`} {
		_, err := h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask(input, mine)} })
		b.wantCode(err, perdure.IdempotencyKeyReused)
	}
	kind := h.newTask(`{"a":1}`, mine)
	kind.Kind = "other"
	_, err := h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{kind} })
	b.wantCode(err, perdure.IdempotencyKeyReused)
	if reply := h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask(`{"a":1}`, mine)} }); len(reply.Tasks) != 1 {
		t.Errorf("the same again answered %+v", reply)
	}
}

func TestFinishDeliveredTwice(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1")
	h.suspend(perdure.WaitTask(id))
	f := done(c, `"out"`)
	f.Parked = true
	first := b.finish(f)
	if first.Claim == nil || first.Claim.Lease.ExecutionID != h.id || first.Claim.WakeReason != perdure.WakeTask {
		t.Fatalf("the end brought %+v, want the claim of what it woke", first)
	}
	if len(first.Claim.Results) != 1 || string(first.Claim.Results[0].Result) != `"out"` {
		t.Errorf("the claim brings the results %+v", first.Claim.Results)
	}
	before := b.snapshot(h.id)
	again := b.finish(f)
	if again.Claim == nil || again.Claim.Lease != first.Claim.Lease {
		t.Fatalf("delivered again it brought %+v, want %+v", again.Claim, first.Claim.Lease)
	}
	if after := b.snapshot(h.id); after != before {
		t.Errorf("delivered again it wrote:\n%s\n%s", before, after)
	}
	// After the claim has ended, the reply to a repeated finish does not contain the claim.
	next := &holder{bench: b, claim: *first.Claim, id: h.id}
	next.suspend(perdure.WaitSignal("x"))
	if third := b.finish(f); third.Claim != nil {
		t.Errorf("the end brought a claim that is over: %+v", third.Claim)
	}
}

func TestFinishThatWakesNothing(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1", "2")
	claims := b.taskClaims()
	h.suspend(perdure.WaitAll(perdure.WaitTask(ids[0]), perdure.WaitTask(ids[1])))
	for i, c := range claims {
		f := done(c, `1`)
		f.Parked = i == 0
		if reply := b.finish(f); reply.Claim != nil {
			t.Errorf("end %d brought a claim: parked %v", i, f.Parked)
		}
	}
	// The second task woke the execution; any poll may claim it.
	b.claim()
}

func TestCancelOneTask(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1", "2")
	claims := b.taskClaims()
	reply := h.commit(func(c *perdure.Commit) {
		c.CancelTask = ids[:1]
		suspending(perdure.WaitTask(ids[0]))(c)
	})
	if reply.Suspended || len(reply.Tasks) != 1 || reply.Tasks[0].Status != perdure.TaskCancelled {
		t.Fatalf("the commit answered %+v", reply)
	}
	for _, c := range claims {
		beat, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Tasks: []perdure.TaskHeartbeat{{Lease: c.Lease}}})
		b.must(err)
		if told := beat.Tasks[0].CancelRequested; told != (c.Lease.TaskID == ids[0]) {
			t.Errorf("task %s, cancelled %s: told %v", c.Lease.TaskID, ids[0], told)
		}
	}
	h.commit(func(c *perdure.Commit) { c.CancelTask = ids[:1] }) // this task has ended already
}

func TestPriorityGoesFirst(t *testing.T) {
	b := newBench(t)
	h := b.started()
	urgent := 0
	last := h.newTask(`"last"`)
	first := h.newTask(`"first"`, func(o *perdure.TaskOptions) { o.Priority = &urgent })
	h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{last, first} })
	claims, err := b.d.PollTasks(t.Context(), b.poll(1))
	b.must(err)
	if claims[0].Lease.TaskID != perdure.TaskID(first.Key) {
		t.Error("the task of priority 5 came before that of priority 0")
	}
}

func TestHeartbeatKeepsProgress(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1")
	for _, progress := range []string{`{"done":1}`, ""} {
		beat := perdure.TaskHeartbeat{Lease: c.Lease}
		if progress != "" {
			beat.Progress = []byte(progress)
		}
		_, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Tasks: []perdure.TaskHeartbeat{beat}})
		b.must(err)
		if got := string(b.task(h.id, id).Progress); got != `{"done":1}` {
			t.Errorf("the progress is %q", got)
		}
	}
}

func TestStepIsRecordedOnce(t *testing.T) {
	b := newBench(t)
	h := b.started()
	key := perdure.StepKey(h.id, "s", "")
	for _, result := range []string{`"first"`, `"second"`} {
		h.commit(func(c *perdure.Commit) {
			c.Steps = []perdure.StepRecord{{Name: "s", Key: key, Instance: "one", Result: perdure.Inline([]byte(result))}}
		})
	}
	if got := b.task(h.id, perdure.TaskID(key)); !got.Step || got.Status != perdure.TaskCompleted || string(got.Result) != `"first"` || got.Options.Instance != "one" {
		t.Errorf("the record is %+v", got)
	}
	if got := b.taskClaims(); len(got) != 0 {
		t.Error("a step was claimed like a task")
	}
	_, err := h.try(func(c *perdure.Commit) {
		c.Steps = []perdure.StepRecord{{Name: "s", Key: "task:long", Instance: strings.Repeat("é", perdure.MaxStepInstance+1)}}
	})
	b.wantCode(err, perdure.InvalidArgument)
}
