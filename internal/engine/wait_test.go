package engine

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// TestTaskThatEndsWhileRunningIsNotLost checks a wait for a task that has ended while the execution
// was RUNNING. The commit with this wait returns the task's result, and does not suspend the
// execution.
func TestTaskThatEndsWhileRunningIsNotLost(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1")
	b.finish(done(b.taskClaim(), `"out"`))
	b.wantStatus(h.id, perdure.StatusRunning)
	reply := h.commit(suspending(perdure.WaitTask(ids[0])))
	if reply.Suspended || len(reply.Tasks) != 1 || string(reply.Tasks[0].Result) != `"out"` {
		t.Fatalf("the suspend answered %+v, want to go on with the result", reply)
	}
	b.wantStatus(h.id, perdure.StatusRunning)
	if n := b.count(h.id, perdure.EventWaiting); n != 0 {
		t.Errorf("%d agent.waiting events for a wait that never was", n)
	}
}

func TestSuspendWhoseWaitIsMetGoesOn(t *testing.T) {
	b := newBench(t)
	h := b.started()
	b.signal(h.id, "go.left", "s1")
	reply := h.commit(suspending(perdure.WaitSignal("go.*")))
	if reply.Suspended || len(reply.Signals) != 1 || reply.Signals[0].ID != "s1" {
		t.Fatalf("a signal is pending, the suspend answered %+v", reply)
	}
	// A signal that the same commit takes does not meet the wait.
	h.commit(func(c *perdure.Commit) { c.Take = []string{"s1"} })
	b.signal(h.id, "go.right", "s2")
	reply = h.commit(func(c *perdure.Commit) {
		c.Take = []string{"s2"}
		suspending(perdure.WaitAny(perdure.WaitSignal("go.*"), perdure.WaitUntil(perdure.At(b.clock.Now()))))(c)
	})
	if reply.Suspended {
		t.Fatal("the timer is due, and the suspend was kept")
	}
	h.suspend(perdure.WaitSignal("go.*"))
	b.wantStatus(h.id, perdure.StatusWaiting)
}

// TestWaitForSomethingElseIsNotWoken checks that an execution that waits for one signal is not
// woken by ended tasks, by other signals or by time.
func TestWaitForSomethingElseIsNotWoken(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1", "2")
	h.suspend(perdure.WaitSignal("approve"))
	for _, c := range b.taskClaims() {
		b.finish(done(c, `1`))
	}
	b.signal(h.id, "other", "s1")
	b.clock.advance(time.Hour)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusWaiting)
	if got := b.claims(); len(got) != 0 {
		t.Fatal("it was claimed")
	}
	b.signal(h.id, "approve", "s2")
	next := b.claim()
	if next.claim.WakeReason != perdure.WakeSignal {
		t.Errorf("it woke by %s", next.claim.WakeReason)
	}
	if reply := next.commit(suspending(perdure.WaitAll(perdure.WaitTask(ids[0]), perdure.WaitTask(ids[1])))); reply.Suspended || len(reply.Tasks) != 2 {
		t.Errorf("both tasks have ended; the suspend answered %+v", reply)
	}
}

// TestAnyWaitWithAFailedTaskDoesNotSpin checks a wait that is met when any of two tasks succeeds.
// The failure of one task, before or after the suspend, does not meet the wait. The success of the
// other task does.
func TestAnyWaitWithAFailedTaskDoesNotSpin(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1", "2")
	first := func() perdure.Wait {
		return perdure.WaitAny(
			perdure.WaitAll(perdure.WaitTask(ids[0]), perdure.WaitTask(ids[1])),
			perdure.WaitTaskOn(ids[0], perdure.TaskSucceeded), perdure.WaitTaskOn(ids[1], perdure.TaskSucceeded),
		)
	}
	claims := b.taskClaims()
	b.finish(failed(claims[0], true)) // before the suspend
	h.suspend(first())
	b.sweep()
	b.wantStatus(h.id, perdure.StatusWaiting)
	b.finish(done(claims[1], `2`))
	next := b.claim()
	if next.claim.WakeReason != perdure.WakeTask || len(next.claim.Results) != 2 {
		t.Errorf("it woke by %s with %d results", next.claim.WakeReason, len(next.claim.Results))
	}
}

func TestAllWaitRemembersWhatWasMet(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1")
	due := perdure.At(b.clock.Now().Add(time.Minute))
	h.suspend(perdure.WaitAll(perdure.WaitTask(ids[0]), perdure.WaitSignal("a"), perdure.WaitSignal("b.**"), perdure.WaitUntil(due)))
	if x := b.execution(h.id); x.WaitReason != "task" {
		t.Errorf("the reason is %q, want task: the wait holds one", x.WaitReason)
	}
	b.signal(h.id, "b.x.y", "s1")
	b.finish(done(b.taskClaim(), `1`))
	b.clock.advance(time.Minute)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusWaiting)
	b.signal(h.id, "a", "s2")
	b.claim()
}

func TestWaitReasons(t *testing.T) {
	b := newBench(t)
	h := b.started()
	for reason, waits := range map[string][]perdure.Wait{
		"timer": nil, "signal": {perdure.WaitSignal("x")},
	} {
		due := perdure.WaitUntil(perdure.At(b.clock.Now().Add(time.Minute)))
		h.suspend(perdure.WaitAny(append(waits, due)...))
		if x := b.wantStatus(h.id, perdure.StatusWaiting); x.WaitReason != reason || x.Wait == nil {
			t.Errorf("the reason is %q, want %q", x.WaitReason, reason)
		}
		b.clock.advance(time.Minute)
		b.sweep()
		if x := b.execution(h.id); x.WaitReason != "" {
			t.Errorf("the reason %q outlived the wait", x.WaitReason)
		}
		h = b.claim()
	}
}

func TestTimerFiresOnceAndSurvivesARestart(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.suspend(perdure.WaitUntil(perdure.At(b.clock.Now().Add(time.Minute))))
	b.clock.advance(59 * time.Second)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusWaiting)
	b.must(b.s.Close())
	b.clock.advance(time.Second)
	b.open()
	b.sweep()
	next := b.claim()
	if next.claim.WakeReason != perdure.WakeTimer {
		t.Errorf("it woke by %s", next.claim.WakeReason)
	}
	// The timer of the earlier wait was removed when the execution woke.
	next.suspend(perdure.WaitSignal("x"))
	b.clock.advance(time.Hour)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusWaiting)
	if due, err := b.s.Due(t.Context(), store.DueQuery{}); err != nil || len(due.At) > 0 || !due.Ready.IsZero() {
		t.Errorf("something is due: %v %v", due, err)
	}
}

func TestSeveralTimersOfOneWait(t *testing.T) {
	b := newBench(t)
	h := b.started()
	at := func(d time.Duration) perdure.Wait { return perdure.WaitUntil(perdure.At(b.clock.Now().Add(d))) }
	h.suspend(perdure.WaitAll(at(time.Minute), at(2*time.Minute), at(3*time.Minute)))
	for range 2 {
		b.clock.advance(time.Minute)
		b.sweep()
		b.wantStatus(h.id, perdure.StatusWaiting)
	}
	b.clock.advance(time.Minute)
	b.sweep()
	b.claim()
}

// TestTimerIsGoneWithTheWaking checks that a timer is deleted when a timer, a signal or a cancel
// ends the wait, so that sweeps no longer find it.
func TestTimerIsGoneWithTheWaking(t *testing.T) {
	for name, wake := range map[string]func(*holder){
		"the timer": func(h *holder) { h.clock.advance(time.Minute); h.sweep() },
		"a signal":  func(h *holder) { h.signal(h.id, "x", "s1") },
		"a cancel":  func(h *holder) { h.cancel() },
	} {
		b := newBench(t)
		h := b.started()
		h.suspend(perdure.WaitAny(perdure.WaitSignal("x"), perdure.WaitUntil(perdure.At(b.clock.Now().Add(time.Minute)))))
		wake(h)
		if due, err := b.s.Due(t.Context(), store.DueQuery{}); err != nil || len(due.At) > 0 || !due.Ready.IsZero() {
			t.Errorf("after %s something is due: %v %v", name, due, err)
		}
	}
}
