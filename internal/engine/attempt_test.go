package engine

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
)

func TestRetriesBackOffAndEnd(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1")
	h.suspend(perdure.WaitTask(id))
	for attempt := 1; attempt < 3; attempt++ {
		b.finish(failed(c, false))
		task := b.task(h.id, id)
		full := time.Second << (attempt - 1)
		if pause := task.NotBefore.Sub(b.clock.Now()); pause < full/2 || pause > full {
			t.Errorf("after attempt %d the pause is %s, want %s with jitter", attempt, pause, full)
		}
		if got := b.taskClaims(); len(got) != 0 {
			t.Fatal("it was claimed at once")
		}
		b.wantStatus(h.id, perdure.StatusWaiting)
		b.clock.advance(full)
		if c = b.taskClaim(); c.Lease.Attempt != attempt+1 {
			t.Errorf("attempt %d after %d", c.Lease.Attempt, attempt)
		}
	}
	b.finish(failed(c, false))
	if task := b.task(h.id, id); task.Status != perdure.TaskFailed || task.Error == nil || task.Error.Message != "no luck" {
		t.Errorf("the task is %s: %v", task.Status, task.Error)
	}
	b.claim()
	// A later result does not change a task that has ended.
	_, err := b.d.FinishTask(t.Context(), done(c, `1`))
	b.must(err)
	if task := b.task(h.id, id); task.Status != perdure.TaskFailed || task.Result != nil {
		t.Errorf("the task became %s", task.Status)
	}
}

func TestRetryAfterAndPermanent(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1")
	f := failed(c, false)
	f.Error.RetryAfter = 10 * time.Minute
	b.finish(f)
	if pause := b.task(h.id, id).NotBefore.Sub(b.clock.Now()); pause < 10*time.Minute {
		t.Errorf("the pause is %s, the provider asked for 10m", pause)
	}
	b.clock.advance(10 * time.Minute)
	b.finish(failed(b.taskClaim(), true))
	if got := b.task(h.id, id).Status; got != perdure.TaskFailed {
		t.Errorf("after a permanent error it is %s", got)
	}
}

func TestScheduleToCloseBoundsTheWhole(t *testing.T) {
	bound := func(o *perdure.TaskOptions) { o.ScheduleToClose = time.Minute }
	t.Run("running", func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		id, c := h.scheduled("1", bound)
		h.suspend(perdure.WaitTask(id))
		b.clock.advance(time.Minute)
		b.sweep()
		if task := b.task(h.id, id); task.Status != perdure.TaskFailed || task.Error.Code != "timeout" {
			t.Fatalf("it is %s: %v", task.Status, task.Error)
		}
		_, err := b.d.FinishTask(t.Context(), done(c, `"late"`))
		b.wantCode(err, perdure.LeaseLost)
		b.claim()
	})
	t.Run("pending", func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask("1", bound)} })
		b.clock.advance(time.Minute)
		b.sweep()
		if got := b.taskClaims(); len(got) != 0 {
			t.Error("it was claimed after its time")
		}
	})
	t.Run("no retry that would come too late", func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		id, c := h.scheduled("1", bound, func(o *perdure.TaskOptions) { o.BackoffBase, o.BackoffMax = time.Hour, time.Hour })
		b.finish(failed(c, false))
		if got := b.task(h.id, id).Status; got != perdure.TaskFailed {
			t.Errorf("it is %s", got)
		}
	})
}

// lose advances the clock until the leases of tasks have ended. The lease of the execution stays
// valid, because lose renews it meanwhile.
func (h *holder) lose() {
	h.Helper()
	h.clock.advance(testLease / 2)
	_, err := h.d.Heartbeat(h.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
	h.must(err)
	h.clock.advance(testLease / 2)
	h.sweep()
}

func TestLostAttemptIsRetriedAndDoesNotCount(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, _ := h.scheduled("1", func(o *perdure.TaskOptions) { o.MaxAttempts = 1 })
	for attempt := 2; attempt < 6; attempt++ {
		h.lose()
		if c := b.taskClaim(); c.Lease.Attempt != attempt {
			t.Fatalf("attempt %d, want %d", c.Lease.Attempt, attempt)
		}
	}
	h.lose()
	b.finish(failed(b.taskClaim(), false)) // the only attempt that counts as a try
	if got := b.task(h.id, id).Status; got != perdure.TaskFailed {
		t.Errorf("it is %s", got)
	}
}

// TestLostAttemptIsReported checks that with OnLostReport the loss of an attempt sets the task to
// INTERRUPTED, because the tool may have taken effect. A later result of the attempt is refused,
// and the execution wakes.
func TestLostAttemptIsReported(t *testing.T) {
	for name, lose := range map[string]func(*holder, perdure.TaskClaim){
		"lost": func(h *holder, _ perdure.TaskClaim) { h.clock.advance(testLease); h.sweep() },
		"given back after its start": func(h *holder, c perdure.TaskClaim) {
			h.must(h.d.Release(h.Context(), perdure.Release{Tasks: []perdure.TaskRelease{{Lease: c.Lease, Started: true}}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.started()
			id, c := h.scheduled("1", func(o *perdure.TaskOptions) { o.OnLost = perdure.OnLostReport })
			h.suspend(perdure.WaitTask(id))
			lose(h, c)
			task := b.task(h.id, id)
			if task.Status != perdure.TaskInterrupted || task.Error == nil || task.Error.Code != "interrupted" {
				t.Fatalf("it is %s: %v", task.Status, task.Error)
			}
			_, err := b.d.FinishTask(t.Context(), done(c, `1`))
			b.wantCode(err, perdure.LeaseLost)
			if next := b.claim(); next.claim.WakeReason != perdure.WakeTask || len(next.claim.Results) != 1 {
				t.Errorf("the execution woke by %s", next.claim.WakeReason)
			}
		})
	}
}

func TestUnstartedAttemptDoesNotCount(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1", func(o *perdure.TaskOptions) { o.MaxAttempts, o.OnLost = 1, perdure.OnLostReport })
	for range 12 {
		b.must(b.d.Release(t.Context(), perdure.Release{Tasks: []perdure.TaskRelease{{Lease: c.Lease}}}))
		_, err := b.d.FinishTask(t.Context(), done(c, `"ghost"`))
		b.wantCode(err, perdure.LeaseLost)
		c = b.taskClaim()
	}
	b.finish(failed(c, false))
	if got := b.task(h.id, id).Status; got != perdure.TaskFailed {
		t.Errorf("it is %s", got)
	}
}

func TestTaskThatTakesItsWorkersDown(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1")
	// The release of an attempt whose code has not started does not count as a loss, however often
	// it occurs.
	for range 11 {
		b.must(b.d.Release(t.Context(), perdure.Release{Tasks: []perdure.TaskRelease{{Lease: c.Lease}}}))
		c = b.taskClaim()
	}
	lost := 0
	for b.task(h.id, id).Status == perdure.TaskRunning {
		h.lose()
		lost++
		if len(b.taskClaims()) == 0 {
			break
		}
	}
	task := b.task(h.id, id)
	if task.Status != perdure.TaskFailed || task.Error.Code != "crash_loop" || lost < 3 || lost > 20 {
		t.Errorf("after %d losses it is %s: %v", lost, task.Status, task.Error)
	}
}

// TestLostAttemptLeavesTheOtherTries checks that a lost attempt does not count toward the limit of
// tries of its task.
func TestLostAttemptLeavesTheOtherTries(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, _ := h.scheduled("1", func(o *perdure.TaskOptions) { o.MaxAttempts = 2 })
	h.lose()
	b.finish(failed(b.taskClaim(), false))
	if got := b.task(h.id, id).Status; got != perdure.TaskPending {
		t.Fatalf("after a lost attempt and a failed one of two it is %s", got)
	}
	b.clock.advance(time.Minute)
	b.finish(failed(b.taskClaim(), false))
	if got := b.task(h.id, id).Status; got != perdure.TaskFailed {
		t.Errorf("after two failed attempts it is %s", got)
	}
}

// TestSilentAttemptIsKeptByHeartbeats checks that heartbeats of the worker renew the lease of an
// attempt that reports no progress.
func TestSilentAttemptIsKeptByHeartbeats(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1")
	h.suspend(perdure.WaitTask(id))
	for range 5 {
		b.clock.advance(testLease - time.Second)
		_, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Tasks: []perdure.TaskHeartbeat{{Lease: c.Lease}}})
		b.must(err)
		b.sweep()
	}
	b.finish(done(c, `1`))
	if task := b.task(h.id, id); task.Status != perdure.TaskCompleted || task.Attempt != 1 {
		t.Errorf("it is %s after %d attempts", task.Status, task.Attempt)
	}
}
