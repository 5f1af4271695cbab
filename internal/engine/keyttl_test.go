package engine

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
)

func lasting(o *perdure.TaskOptions) { o.Key, o.KeyTTL = "mine", time.Hour }

func (h *holder) checkpointed() {
	h.Helper()
	h.commit(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{} })
}

// alive advances the clock by d, and then sends a heartbeat of the execution's worker.
func (h *holder) alive(d time.Duration) {
	h.Helper()
	h.clock.advance(d)
	_, err := h.d.Heartbeat(h.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
	h.must(err)
}

// TestKeyStandsForItsTaskForATime checks how long a task key with a TTL identifies its task. The
// key is free again at the first checkpoint that is made more than the TTL after the end of the
// task. A task that is then scheduled with the key is a new task: it has the same id, but the tries
// of the old task do not count against the MaxAttempts of the new task. An attempt of the old task
// cannot finish the new task.
func TestKeyStandsForItsTaskForATime(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, old := h.scheduled("1", lasting)
	ask := func(input string) perdure.CommitReply {
		t.Helper()
		return h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask(input, lasting)} })
	}
	b.finish(done(old, `"old"`))
	h.alive(time.Hour - time.Second)
	h.checkpointed()
	h.alive(time.Hour)
	if reply := ask("1"); len(reply.Tasks) != 1 || string(reply.Tasks[0].Result) != `"old"` {
		t.Fatalf("as of a checkpoint within its time, the key answered %+v", reply.Tasks)
	}
	_, err := h.try(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask("2", lasting)} })
	b.wantCode(err, perdure.IdempotencyKeyReused)

	h.checkpointed()
	reply := h.commit(func(c *perdure.Commit) {
		c.Tasks = []perdure.NewTask{h.newTask("2", lasting)} // also with another input
		suspending(perdure.WaitTask(id))(c)
	})
	if !reply.Suspended || len(reply.Tasks) != 0 {
		t.Fatalf("after its time the key answered %+v", reply)
	}
	fresh := b.taskClaim()
	task := b.task(h.id, id)
	if string(fresh.Task.Input) != "2" || task.Tries() != 1 || string(task.Result) != "null" || task.CompletedAt != nil {
		t.Errorf("the new task is %+v", task)
	}
	if fresh.Lease.Attempt <= old.Lease.Attempt {
		t.Errorf("the attempt number went from %d to %d: it is a fence", old.Lease.Attempt, fresh.Lease.Attempt)
	}
	_, err = b.d.FinishTask(t.Context(), done(old, `"ghost"`))
	b.wantCode(err, perdure.LeaseLost)
	b.finish(failed(fresh, false))
	b.clock.advance(time.Second)
	b.finish(done(b.taskClaim(), `"new"`))
	next := b.claim().claim
	if len(next.Results) != 1 || string(next.Results[0].Result) != `"new"` {
		t.Errorf("who waited for it got %+v", next.Results)
	}
}

// TestKeyOutlivesItsTimeUntilACheckpoint checks an agent that is entered again 48 hours after the
// end of a task and schedules the task again with the same key. It gets the recorded result: the
// TTL of the key is over by then, but no checkpoint was made since.
func TestKeyOutlivesItsTimeUntilACheckpoint(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.checkpointed()
	_, c := h.scheduled("1", lasting)
	b.finish(done(c, `"paid for"`))
	b.clock.advance(48 * time.Hour)
	b.sweep() // the worker is lost, and another continues
	again := b.claim()
	reply := again.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{again.newTask("1", lasting)} })
	if len(reply.Tasks) != 1 || string(reply.Tasks[0].Result) != `"paid for"` {
		t.Errorf("entered again it was answered %+v", reply.Tasks)
	}
	if n := b.count(h.id, perdure.EventTaskScheduled); n != 1 {
		t.Errorf("%d tasks", n)
	}
}

// TestKeysLiveAsLongAsTheExecution checks that a task key without a TTL identifies its task even
// after a checkpoint.
func TestKeysLiveAsLongAsTheExecution(t *testing.T) {
	b := newBench(t)
	h := b.started()
	for _, edit := range []func(*perdure.TaskOptions){func(*perdure.TaskOptions) {}, func(o *perdure.TaskOptions) { o.Key = "mine" }} {
		_, c := h.scheduled("1", edit)
		b.finish(done(c, `"first"`))
		h.alive(testLease / 2)
		h.checkpointed()
		reply := h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask("1", edit)} })
		if len(reply.Tasks) != 1 || string(reply.Tasks[0].Result) != `"first"` {
			t.Errorf("the key was answered %+v", reply.Tasks)
		}
	}
}
