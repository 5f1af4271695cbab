package engine

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// keepAlive advances the clock by d while the workers of the execution and the task send
// heartbeats. If the parameter `alive` is true, the heartbeats also report that the code of the
// task has shown a sign of life.
func (h *holder) keepAlive(d time.Duration, c perdure.TaskClaim, alive bool) {
	h.Helper()
	for step := testLease / 4; d > 0; d -= step {
		h.clock.advance(step)
		_, err := h.d.Heartbeat(h.Context(), perdure.Heartbeat{
			Agents: []perdure.Lease{h.claim.Lease}, Tasks: []perdure.TaskHeartbeat{{Lease: c.Lease, Alive: alive}},
		})
		h.must(err)
		h.sweep()
	}
}

// TestSilentAttemptTimesOut checks when the server ends an attempt whose code shows no sign of
// life: after the heartbeat timeout of the task and a grace period. Heartbeats that the worker
// sends without a sign of life of the code do not prevent the end of the attempt.
func TestSilentAttemptTimesOut(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1", func(o *perdure.TaskOptions) { o.HeartbeatTimeout = time.Minute })
	h.keepAlive(5*time.Minute, c, true)
	if got := b.task(h.id, id).Status; got != perdure.TaskRunning {
		t.Fatalf("a task that gives signs is %s", got)
	}
	h.keepAlive(time.Minute, c, false) // the grace is the duration of a lease
	if got := b.task(h.id, id).Status; got != perdure.TaskRunning {
		t.Fatalf("in the time that its worker has to end it, it is %s", got)
	}
	h.keepAlive(2*testLease, c, false)
	task := b.task(h.id, id)
	if task.Status != perdure.TaskPending || task.Error == nil || task.Error.Code != "timeout" || task.Tries() != 1 {
		t.Fatalf("after the silence it is %s: %v, %d tries", task.Status, task.Error, task.Tries())
	}
	_, err := b.d.FinishTask(t.Context(), done(c, `"late"`))
	b.wantCode(err, perdure.LeaseLost)
	b.clock.advance(time.Second)
	if again := b.taskClaim(); again.Lease.Attempt != 2 {
		t.Errorf("it came again with attempt %d", again.Lease.Attempt)
	}
}

// TestLongSilentTaskIsLeftAlone checks that a task without a heartbeat timeout can run for 15
// minutes without a sign of life of its code.
func TestLongSilentTaskIsLeftAlone(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1")
	h.keepAlive(15*time.Minute, c, false)
	if got := b.task(h.id, id).Status; got != perdure.TaskRunning {
		t.Fatalf("it is %s", got)
	}
	b.finish(done(c, "1"))
}

func TestAttemptTimeoutIsGuarded(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1", func(o *perdure.TaskOptions) { o.AttemptTimeout, o.MaxAttempts = time.Minute, 2 })
	h.suspend(perdure.WaitTask(id))
	for attempt := 1; ; attempt++ {
		h.keepAlive(time.Minute, c, true)
		if got := b.task(h.id, id).Status; got != perdure.TaskRunning {
			t.Fatalf("in the grace of attempt %d it is %s", attempt, got)
		}
		h.keepAlive(testLease, c, true)
		if attempt == 2 {
			break
		}
		b.clock.advance(time.Second)
		c = b.taskClaim()
	}
	if task := b.task(h.id, id); task.Status != perdure.TaskFailed || task.Error.Code != "timeout" {
		t.Errorf("after its last try it is %s: %v", task.Status, task.Error)
	}
	b.claim() // and it woke the execution that waited for it
}

// TestBackoffCountsTries checks that only failed attempts increase the pause before the next one.
// Lost and released attempts do not.
func TestBackoffCountsTries(t *testing.T) {
	b := newBench(t)
	h := b.started()
	id, c := h.scheduled("1")
	for range 3 {
		h.lose()
		c = b.taskClaim()
		b.must(b.d.Release(t.Context(), perdure.Release{Tasks: []perdure.TaskRelease{{Lease: c.Lease}}}))
		c = b.taskClaim()
	}
	b.finish(failed(c, false))
	task := b.task(h.id, id)
	if pause := task.NotBefore.Sub(b.clock.Now()); pause > time.Second {
		t.Errorf("after the first try that counts the pause is %s", pause)
	}
	if task.MaxAttempts != 3 || task.Tries() != 1 {
		t.Errorf("%d tries of %d", task.Tries(), task.MaxAttempts)
	}
}

// TestEndedTasksNeverChange checks that finishes, heartbeats, releases, cancels, schedules and
// timeouts do not change a task that has ended.
func TestEndedTasksNeverChange(t *testing.T) {
	for name, end := range map[string]func(h *holder, c perdure.TaskClaim){
		"completed": func(h *holder, c perdure.TaskClaim) { h.finish(done(c, `"out"`)) },
		"failed":    func(h *holder, c perdure.TaskClaim) { h.finish(failed(c, true)) },
		"cancelled": func(h *holder, c perdure.TaskClaim) {
			h.commit(func(k *perdure.Commit) { k.CancelTask = append(k.CancelTask, c.Lease.TaskID) })
		},
		"interrupted": func(h *holder, c perdure.TaskClaim) { h.lose() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.started()
			short := func(o *perdure.TaskOptions) {
				o.OnLost, o.ScheduleToClose, o.AttemptTimeout, o.HeartbeatTimeout = perdure.OnLostReport, time.Minute, time.Minute, time.Minute
			}
			id, c := h.scheduled("1", short)
			end(h, c)
			before := *b.task(h.id, id)
			if !before.Status.Terminal() {
				t.Fatalf("it is %s", before.Status)
			}
			for _, f := range []perdure.TaskFinish{done(c, `"other"`), failed(c, false), failed(c, true)} {
				_, _ = b.d.FinishTask(t.Context(), f) // may succeed or fail, depending on the request
			}
			_, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Tasks: []perdure.TaskHeartbeat{{Lease: c.Lease, Progress: []byte(`1`)}}})
			b.must(err)
			b.must(b.d.Release(t.Context(), perdure.Release{Tasks: []perdure.TaskRelease{{Lease: c.Lease}, {Lease: c.Lease, Started: true}}}))
			h.commit(func(k *perdure.Commit) { k.CancelTask = append(k.CancelTask, id) })
			h.commit(func(k *perdure.Commit) { k.Tasks = []perdure.NewTask{h.newTask("1", short)} })
			for range 20 { // longer than all timeouts of the task
				b.clock.advance(testLease / 2)
				_, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
				b.must(err)
				b.sweep()
			}
			after := *b.task(h.id, id)
			if after.Status != before.Status || string(after.Result) != string(before.Result) || *after.CompletedAt != *before.CompletedAt ||
				after.Attempt != before.Attempt || string(after.Progress) != string(before.Progress) {
				t.Errorf("it was %+v and is %+v", before, after)
			}
			if got := b.taskClaims(); len(got) != 0 {
				t.Error("it was claimed again")
			}
		})
	}
}
