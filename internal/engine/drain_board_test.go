package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/board"
	"github.com/perdure/perdure/internal/rules"
)

// pollOf polls for executions on behalf of the worker.
func (b *bench) pollOf(worker uuid.UUID, slots int) []*holder {
	b.Helper()
	p := b.poll(slots)
	p.WorkerID = worker
	claims, err := b.d.PollAgents(b.Context(), p)
	b.must(err)
	var held []*holder
	for _, c := range claims {
		held = append(held, &holder{bench: b, claim: c, id: c.Lease.ExecutionID})
	}
	return held
}

// dangerous creates an execution whose workers were lost three times, and advances the clock to the
// end of the pause after the third loss.
func (b *bench) dangerous() uuid.UUID {
	b.Helper()
	h := b.started()
	h.crash(3)
	b.clock.advance(time.Minute)
	return h.id
}

// TestCrashingExecutionIsAlone checks that an execution with three lost leases can be claimed only by
// a worker without other executions. Until the execution suspends, its worker gets no other
// execution.
func TestCrashingExecutionIsAlone(t *testing.T) {
	b := newBench(t)
	id := b.dangerous()
	busy, idle := uuid.New(), uuid.New()
	other := b.start()
	// The dangerous execution is the older one, so the worker claims it first, and claims no other
	// execution in the same poll.
	if got := b.pollOf(idle, 8); len(got) != 1 || got[0].id != id {
		t.Fatalf("an idle worker got %d executions", len(got))
	} else {
		defer func(h *holder) {
			h.checkpoints()
			if more := b.pollOf(idle, 8); len(more) != 0 {
				t.Errorf("after a checkpoint its worker got %d others", len(more))
			}
			h.suspend(perdure.WaitSignal("never"))
			if more := b.pollOf(idle, 8); len(more) != 1 {
				t.Errorf("after it its worker got %d others, want 1", len(more))
			}
		}(got[0])
	}
	if got := b.pollOf(idle, 8); len(got) != 0 {
		t.Errorf("beside it its worker got %d others", len(got))
	}
	if got := b.pollOf(busy, 8); len(got) != 1 || got[0].id != other {
		t.Errorf("another worker got %d executions", len(got))
	}
	b.start() // for the first worker, once its dangerous execution has suspended
}

// TestUnfitExecutionNeedNotBeAlone checks that an execution which workers have released as unfit
// (their code is too old for it, for instance) can be claimed together with others. Only executions
// that may crash their worker are claimed alone.
func TestUnfitExecutionNeedNotBeAlone(t *testing.T) {
	b := newBench(t)
	h := b.started()
	for range 5 {
		b.must(b.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease, Unfit: "too old"}}}))
		b.clock.advance(time.Minute)
		h = b.claim()
	}
	b.must(b.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease}}}))
	b.clock.advance(time.Millisecond)
	b.start()
	worker := uuid.New()
	if got := b.pollOf(worker, 8); len(got) != 2 {
		t.Fatalf("a worker with room got %d of 2 executions", len(got))
	}
	if x := b.execution(h.id); x.Crashes != 0 || x.Unfit != 10 {
		t.Errorf("%d crashes are counted, and a score of %d for workers that were not fit", x.Crashes, x.Unfit)
	}
}

func TestUnfitAndCrashesAreCountedApart(t *testing.T) {
	b := newBench(t)
	h := b.started()
	unfit := func(times int) {
		for range times {
			b.must(b.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease, Unfit: "too old"}}}))
			b.clock.advance(time.Minute)
			h = b.claim()
		}
	}
	unfit(9)
	h.crash(9)
	b.wantStatus(h.id, perdure.StatusPending)
}

func TestBusyWorkerDoesNotGetACrashingExecution(t *testing.T) {
	b := newBench(t)
	id := b.dangerous()
	worker := uuid.New()
	b.must(b.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: b.pollOf(worker, 1)[0].claim.Lease}}}))
	// After a release, the execution still must run alone.
	b.clock.advance(time.Millisecond)
	fresh := b.start()
	held := b.pollOf(worker, 1)
	if len(held) != 1 || held[0].id != id {
		t.Fatalf("the idle worker got %v", held)
	}
	b.must(b.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: held[0].claim.Lease}}}))
	b.clock.advance(time.Millisecond)
	held = b.pollOf(worker, 1) // now the other execution is older
	if len(held) != 1 || held[0].id != fresh {
		t.Fatalf("the worker got %v", held)
	}
	if got := b.pollOf(worker, 8); len(got) != 0 {
		t.Error("a worker that holds another execution got the dangerous one")
	}
	held[0].commit(completing())
	if got := b.pollOf(worker, 8); len(got) != 1 || got[0].id != id {
		t.Error("the idle worker did not get it")
	}
}

// TestCrashingExecutionIsNotStarved checks that an execution that must run alone on its worker is
// claimed although all workers are busy. After some seconds, the server chooses one worker, which
// gets no other work until it is idle.
func TestCrashingExecutionIsNotStarved(t *testing.T) {
	b := newBench(t)
	h := b.started()
	worker, second := uuid.New(), uuid.New()
	busy := func(w uuid.UUID) *holder {
		t.Helper()
		b.start()
		got := b.pollOf(w, 1)
		if len(got) != 1 {
			t.Fatalf("a worker got %d executions, want a fresh one", len(got))
		}
		return got[0]
	}
	one := busy(worker)
	two := busy(second)
	alive := func(d time.Duration) {
		for step := testLease / 2; d > 0; d -= step {
			b.clock.advance(min(step, d))
			_, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{one.claim.Lease, two.claim.Lease}})
			b.must(err)
			b.sweep()
		}
	}
	for range 3 {
		alive(testLease)
		alive(10 * time.Second)
		if b.execution(h.id).Crashes < 6 {
			b.claim()
		}
	}
	alive(20 * time.Second) // the pause of the crash guard, and idlePatience after it
	if x := b.execution(h.id); x.Status != perdure.StatusPending || x.Crashes != 6 {
		t.Fatalf("it is %s with a score of %d", x.Status, x.Crashes)
	}
	// The first poll makes the server choose the worker, which gets no executions from then on.
	if got := b.pollOf(worker, 8); len(got) != 0 {
		t.Fatalf("it was given to a worker that holds another")
	}
	fresh := b.start()
	if got := b.pollOf(worker, 8); len(got) != 0 {
		t.Fatal("the worker that is to get idle got more")
	}
	// The end of a task wakes its execution. The reply to the end of the task does not contain the
	// claim of the execution, because the server has chosen this worker to become idle.
	ids := one.schedule("1")
	one.suspend(perdure.WaitTask(ids[0]))
	f := done(b.taskClaim(), "1")
	f.WorkerID, f.Parked = worker, true
	reply, err := b.d.FinishTask(t.Context(), f)
	b.must(err)
	if reply.Claim != nil {
		t.Error("the end of a task brought a claim to the worker that is to get idle")
	}
	if got := b.pollOf(second, 8); len(got) != 2 {
		t.Errorf("the other worker got %d executions, want the fresh and the woken one", len(got))
	}
	_ = fresh
	if got := b.pollOf(worker, 8); len(got) != 1 || got[0].id != h.id {
		t.Fatalf("the idle worker got %v", got)
	}
}

// drains lets the server choose the worker to become idle, so that an execution can run alone on
// that worker.
func (b *bench) drains(worker uuid.UUID) {
	now := b.s.Now()
	b.e.drains.Polled(worker, nil, &rules.AloneWait{Execution: uuid.New(), Since: now.Add(-board.IdlePatience)}, now)
}

// TestDrainingEndsWithItsReason checks that a worker that was chosen to become idle gets executions
// again once no execution waits to run alone.
func TestDrainingEndsWithItsReason(t *testing.T) {
	b := newBench(t)
	id := b.dangerous()
	b.clock.advance(board.IdlePatience)
	worker := uuid.New()
	claimed := b.pollOf(worker, 1)[0]
	b.must(b.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: claimed.claim.Lease}}}))
	b.clock.advance(time.Millisecond)
	b.must(func() error { _, _, err := b.e.Cancel(t.Context(), org, id); return err }())
	b.start()
	if got := b.pollOf(worker, 1); len(got) != 1 {
		t.Fatal("the worker got nothing")
	}
	if b.e.drains.Draining(worker, b.s.Now()) {
		t.Error("the worker still drains")
	}
	drains := &board.Drains{}
	now := b.s.Now()
	drains.Polled(worker, nil, &rules.AloneWait{Execution: id, Since: now.Add(-board.IdlePatience)}, now)
	if !drains.Draining(worker, now) || drains.Draining(uuid.New(), now) {
		t.Fatal("not the one worker was chosen")
	}
	drains.Polled(uuid.New(), nil, &rules.AloneWait{Execution: id, Since: now.Add(-time.Hour)}, now)
	if !drains.Draining(worker, now) {
		t.Error("a second worker was chosen beside it")
	}
	drains.Polled(worker, nil, nil, now)
	if drains.Draining(worker, now) {
		t.Error("it drains for nothing")
	}
	drains.Polled(worker, nil, &rules.AloneWait{Execution: id, Since: now.Add(-time.Second)}, now)
	if drains.Draining(worker, now) {
		t.Error("it was chosen at once")
	}
}

func TestCrashLoopSaysWhat(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.crash(10)
	x := b.wantStatus(h.id, perdure.StatusFailed)
	if *x.ErrorCode != "crash_loop" || !strings.Contains(*x.Error, b.worker.String()) {
		t.Errorf("the error is %s: %s", *x.ErrorCode, *x.Error)
	}
}

// TestTakeoverWithinLeaseAndTwoSeconds checks that the executions of a killed worker can be claimed
// at the latest two seconds after the end of its lease.
func TestTakeoverWithinLeaseAndTwoSeconds(t *testing.T) {
	b := newBench(t)
	if sweep > 2*time.Second || b.e.until(perdure.Time{}) > 2*time.Second {
		t.Errorf("leases are looked at every %s", sweep)
	}
	h := b.started()
	id, c := h.scheduled("1")
	b.clock.advance(testLease + sweep)
	b.sweep()
	if next := b.claim(); next.id != h.id || next.claim.WakeReason != perdure.WakeLost {
		t.Errorf("the execution woke by %s", next.claim.WakeReason)
	}
	if next := b.taskClaim(); next.Lease.TaskID != id || next.Lease.Attempt != c.Lease.Attempt+1 {
		t.Errorf("the task's attempt is %d", next.Lease.Attempt)
	}
}
