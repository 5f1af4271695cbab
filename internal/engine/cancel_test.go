package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

func (h *holder) cancel() *perdure.Execution {
	h.Helper()
	x, changed, err := h.e.Cancel(h.Context(), org, h.id)
	h.must(err)
	if !changed {
		h.Fatal("the cancel changed nothing")
	}
	return x
}

func TestCancelBeforeTheStart(t *testing.T) {
	b := newBench(t)
	id := b.start()
	x, changed, err := b.e.Cancel(t.Context(), org, id)
	b.must(err)
	if !changed || x.Status != perdure.StatusCancelled {
		t.Fatalf("it is %s", x.Status)
	}
	if got := b.claims(); len(got) != 0 {
		t.Error("a cancelled execution was claimed")
	}
	if want := []perdure.EventType{perdure.EventCreated, perdure.EventCancelled}; !slices.Equal(b.events(id), want) {
		t.Errorf("the log is %v, want %v", b.events(id), want)
	}
}

func TestCancelWhileItWaits(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1", "2")
	running := b.taskClaims()[:1]
	h.suspend(perdure.WaitAll(perdure.WaitTask(ids[0]), perdure.WaitTask(ids[1]), perdure.WaitUntil(perdure.At(b.clock.Now().Add(time.Minute)))))
	if x := h.cancel(); x.Status != perdure.StatusCancelled {
		t.Fatalf("it is %s", x.Status)
	}
	for _, id := range ids {
		if got := b.task(h.id, id); got.Status != perdure.TaskCancelled {
			t.Errorf("task %s is %s", id, got.Status)
		}
	}
	// A heartbeat tells the worker of the running task that the task is cancelled, and the task's
	// result is refused.
	beat, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Tasks: []perdure.TaskHeartbeat{{Lease: running[0].Lease}}})
	b.must(err)
	if !beat.Tasks[0].CancelRequested {
		t.Error("the task's worker was not told")
	}
	_, err = b.d.FinishTask(t.Context(), done(running[0], `1`))
	b.wantCode(err, perdure.LeaseLost)
	b.clock.advance(time.Hour)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusCancelled)
}

func TestCancelWhileItRuns(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.schedule("1")
	task := b.taskClaim()
	if x := h.cancel(); x.Status != perdure.StatusCancelling {
		t.Fatalf("it is %s", x.Status)
	}
	h.cancel() // a second cancel changes nothing
	if n := b.count(h.id, perdure.EventCancelling); n != 1 {
		t.Errorf("%d agent.cancelling events", n)
	}
	beat, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}, Tasks: []perdure.TaskHeartbeat{{Lease: task.Lease}}})
	b.must(err)
	if !beat.Agents[0].CancelRequested || beat.Agents[0].Lost || !beat.Tasks[0].CancelRequested {
		t.Errorf("the heartbeat says %+v", beat)
	}
	// A CANCELLING execution accepts only a commit that ends the execution.
	for name, edit := range map[string]func(*perdure.Commit){
		"going on": func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{user(nil, "more")} },
		"waiting":  suspending(perdure.WaitSignal("x")),
	} {
		if _, err := h.try(edit); !perdure.IsCode(err, perdure.Conflict) {
			t.Errorf("%s gave %v", name, err)
		}
	}
	if reply := h.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeCancelled }); reply.Ended != perdure.StatusCancelled {
		t.Errorf("it ended %q", reply.Ended)
	}
	b.wantStatus(h.id, perdure.StatusCancelled)
}

func TestCompleteWhileCancelling(t *testing.T) {
	b := newBench(t)
	h := b.started()
	b.signal(h.id, "m", "s1")
	h.cancel()
	if reply := h.commit(completing("m")); reply.Ended != perdure.StatusCancelled {
		t.Fatalf("it ended %q", reply.Ended)
	}
	if x := b.wantStatus(h.id, perdure.StatusCancelled); string(x.Output) != `"done"` {
		t.Errorf("the output is %s", x.Output)
	}
}

func TestFailWhileCancelling(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.cancel()
	h.commit(func(c *perdure.Commit) {
		c.Outcome = perdure.Outcome{Kind: perdure.OutcomeFail, Error: &perdure.TaskError{Code: "oops", Message: "no"}}
	})
	if x := b.wantStatus(h.id, perdure.StatusFailed); x.ErrorCode == nil || *x.ErrorCode != "oops" || *x.Error != "no" {
		t.Errorf("the error is %v %v", x.ErrorCode, x.Error)
	}
}

// TestCancelGraceRunsOut checks that an execution is cancelled at the end of CancelGrace if its
// worker renews the lease but does not end the execution.
func TestCancelGraceRunsOut(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.cancel()
	beat := func() perdure.AgentHeartbeatReply {
		reply, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
		b.must(err)
		return reply.Agents[0]
	}
	for range 5 {
		b.clock.advance(b.e.CancelGrace/5 - time.Millisecond)
		if beat().Lost {
			t.Fatal("it was ended before the grace was over")
		}
		b.sweep()
	}
	b.clock.advance(5 * time.Millisecond)
	b.sweep()
	if x := b.wantStatus(h.id, perdure.StatusCancelled); x.Fence != h.claim.Lease.Fence+1 {
		t.Errorf("the fence is %d, its worker's %d", x.Fence, h.claim.Lease.Fence)
	}
	if !beat().Lost {
		t.Error("the worker still holds the lease")
	}
	_, err := h.try(completing())
	b.wantCode(err, perdure.LeaseLost)
}

// TestCancellingEndsWithItsLease checks that a cancelling execution becomes CANCELLED when its
// worker releases it, or when the worker's lease ends.
func TestCancellingEndsWithItsLease(t *testing.T) {
	for name, end := range map[string]func(*holder){
		"given back": func(h *holder) {
			h.must(h.d.Release(h.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease}}}))
		},
		"lost": func(h *holder) { h.clock.advance(testLease); h.sweep() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.started()
			h.cancel()
			end(h)
			b.wantStatus(h.id, perdure.StatusCancelled)
		})
	}
}

// TestNothingIsBegunForACancellingExecution checks that no task of a cancelling execution is
// started or retried, because the task's result is not needed. Tasks of other executions start.
func TestNothingIsBegunForACancellingExecution(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1", "2", "3", "4")
	p := b.poll(3)
	running, err := b.d.PollTasks(t.Context(), p)
	b.must(err)
	if len(running) != 3 {
		t.Fatalf("%d tasks were claimed", len(running))
	}
	h.cancel()
	if n := b.count(h.id, perdure.EventTaskCancelled); n != 1 {
		t.Errorf("%d tasks were cancelled with it, want the one that had not begun", n)
	}
	failing := done(running[0], ``)
	failing.Result, failing.Error = perdure.Payload{}, &perdure.TaskError{Code: "flaky", Message: "again"}
	b.finish(failing)
	b.must(b.d.Release(t.Context(), perdure.Release{WorkerID: b.worker, Tasks: []perdure.TaskRelease{{Lease: running[1].Lease}}}))
	b.must(b.d.Release(t.Context(), perdure.Release{WorkerID: b.worker, Tasks: []perdure.TaskRelease{{Lease: running[2].Lease, Started: true}}}))
	for _, id := range ids {
		if got := b.task(h.id, id); got.Status != perdure.TaskCancelled {
			t.Errorf("task %s is %s", id, got.Status)
		}
	}
	other := b.started()
	want := other.schedule("5")
	b.clock.advance(time.Minute / 10) // longer than each backoff, shorter than a lease
	if got := b.taskClaims(); len(got) != 1 || got[0].Lease.TaskID != want[0] {
		t.Errorf("%d tasks can be claimed, want the other's", len(got))
	}
	h.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeCancelled })
	b.wantStatus(h.id, perdure.StatusCancelled)
}
