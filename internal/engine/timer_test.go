package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

func dueOf(t *testing.T, x *perdure.Execution) perdure.Time {
	t.Helper()
	due, ok := x.Wait.NextTimer()
	if !ok {
		t.Fatalf("no timer in %+v", x.Wait)
	}
	return due
}

// TestTimerByDuration checks the due time of a timer that is set by a duration. The duration begins
// at the first wait with the timer's name, by the store's clock.
func TestTimerByDuration(t *testing.T) {
	b := newBench(t)
	h := b.started()
	asked := perdure.At(b.clock.Now())
	h.suspend(perdure.WaitAny(perdure.WaitSignal("s"), perdure.WaitAfter("w#1.0", time.Hour)))
	x := b.execution(h.id)
	if due := dueOf(t, x); !due.Equal(asked.Add(time.Hour).Time) || x.Wait.Any[1].After != 0 || x.Wait.Any[1].Name != "" {
		t.Fatalf("it is due at %s, asked for at %s; the wait is %+v", due, asked, x.Wait)
	}
	// Half an hour later, a signal wakes the execution, and its function is entered again. A wait
	// for a timer with another name begins a new timer. A wait for a timer with the first name
	// keeps the due time of the first wait.
	b.clock.advance(30 * time.Minute)
	b.signal(h.id, "s", "s1")
	h = b.claim()
	h.commit(func(c *perdure.Commit) { c.Take = []string{"s1"} })
	h.suspend(perdure.WaitAny(perdure.WaitSignal("between"), perdure.WaitAfter("v#1.0", time.Hour)))
	if due := dueOf(t, b.execution(h.id)); !due.Equal(asked.Add(90 * time.Minute).Time) {
		t.Errorf("another timer is due at %s", due)
	}
	b.signal(h.id, "between", "s2")
	h = b.claim()
	h.suspend(perdure.WaitAfter("w#1.0", time.Hour))
	if due := dueOf(t, b.execution(h.id)); !due.Equal(asked.Add(time.Hour).Time) {
		t.Errorf("asked for again it is due at %s, the first time was %s", due, asked)
	}
	b.clock.advance(30 * time.Minute)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusPending)
}

// TestMetTimerIsTold checks the reply to a suspend whose wait is already met. The reply contains
// the wait, in which the met condition is marked, and the time of the commit.
func TestMetTimerIsTold(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.suspend(perdure.WaitAny(perdure.WaitSignal("s"), perdure.WaitAfter("w#1.1", time.Minute)))
	b.signal(h.id, "s", "s1")
	h = b.claim()
	b.clock.advance(time.Minute)
	reply := h.commit(suspending(perdure.WaitAny(perdure.WaitSignal("other"), perdure.WaitAfter("w#1.1", time.Minute))))
	if reply.Suspended || reply.Wait == nil || reply.Wait.Any[0].Met || !reply.Wait.Any[1].Met {
		t.Errorf("the answer is %+v with %+v", reply, reply.Wait)
	}
	if !reply.At.Equal(perdure.At(b.clock.Now()).Time) {
		t.Errorf("the commit was made at %s, it says %s", b.clock.Now(), reply.At)
	}
}

// TestOutcomesAreKeptUntilTheCheckpoint checks that the outcome of a wait, once an agent has
// recorded it, is stored until the next checkpoint. A second outcome of the same wait does not
// replace the first one. The due times of the wait's timers are deleted.
func TestOutcomesAreKeptUntilTheCheckpoint(t *testing.T) {
	b := newBench(t)
	h := b.started()
	choose := func(name string, number, index int) func(*perdure.Commit) {
		return func(c *perdure.Commit) {
			c.WaitChoices = append(c.WaitChoices, perdure.WaitChoice{Name: name, Number: number, Index: index})
		}
	}
	h.suspend(perdure.WaitAny(perdure.WaitSignal("s"), perdure.WaitAfter("w#1.0", time.Hour), perdure.WaitAfter("w#11.0", time.Hour)))
	b.signal(h.id, "s", "s1")
	h = b.claim()
	h.commit(func(c *perdure.Commit) { choose("w", 1, 1)(c); choose("v", 3, 0)(c) })
	h.commit(choose("w", 1, 0))
	x := b.execution(h.id)
	if got := x.RecordedWaits; got.Outcome("w", 1) != 1 || got.Outcome("v", 3) != 0 || got.Outcome("v", 2) != perdure.NoOutcome || got.Outcome("w", 2) != perdure.NoOutcome {
		t.Errorf("kept: %+v", got)
	}
	if left := x.RecordedWaits.Dues; len(left) != 1 || left[0].Name != "w#11.0" {
		t.Errorf("due times kept: %+v", left)
	}
	// If one commit has both a checkpoint and the outcome of a wait, the outcome counts as recorded
	// after the checkpoint.
	h.commit(func(c *perdure.Commit) {
		choose("w", 1, 2)(c)
		c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline([]byte(`{"plain":1}`)), StateVersion: 7}
	})
	x = b.execution(h.id)
	if got := x.RecordedWaits; len(got.Dues) != 0 || !slices.EqualFunc(got.Outcomes, []perdure.WaitOutcomes{{Name: "w", Of: []int{2}}}, func(a, b perdure.WaitOutcomes) bool {
		return a.Name == b.Name && slices.Equal(a.Of, b.Of)
	}) {
		t.Errorf("kept after the checkpoint: %+v", got)
	}
	c, err := b.s.Checkpoint(t.Context(), h.id, 0)
	if err != nil || c.StateVersion() != 7 || string(c.State) != `{"plain":1}` {
		t.Errorf("the checkpoint is %+v, %v", c, err)
	}
	for _, wrong := range []perdure.WaitChoice{{Name: "", Number: 1}, {Name: "w", Number: 0}, {Name: "w", Number: 1 << 30}, {Name: "w", Number: 1, Index: -1}} {
		_, err := h.try(func(c *perdure.Commit) { c.WaitChoices = []perdure.WaitChoice{wrong} })
		b.wantCode(err, perdure.InvalidArgument)
	}
}

// TestUnfitWorkerGivesBack checks an execution that workers release because they cannot run it.
// From the second release on there is a pause before the next claim. At the tenth release the
// execution fails with the worker's message.
func TestUnfitWorkerGivesBack(t *testing.T) {
	b := newBench(t)
	h := b.started()
	for n := 1; ; n++ {
		err := b.e.release(t.Context(), org, perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease, Unfit: "too old for version 7"}}})
		if err != nil {
			t.Fatal(err)
		}
		x := b.execution(h.id)
		if x.Status == perdure.StatusFailed {
			if n != 10 || *x.Error != "too old for version 7" || *x.ErrorCode != "unfit_worker" {
				t.Errorf("after %d times it failed with %s: %s", n, *x.ErrorCode, *x.Error)
			}
			return
		}
		if x.Status != perdure.StatusPending || (n > 1) == x.NotBefore.IsZero() {
			t.Fatalf("given back %d times it is %s, not before %s", n, x.Status, x.NotBefore)
		}
		b.clock.advance(2 * time.Minute)
		h = b.claim()
	}
}
