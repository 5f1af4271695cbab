package engine

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// takeover waits until the lease of h has ended, and claims the execution for another worker.
func takeover(h *holder) *holder {
	h.Helper()
	h.clock.advance(testLease + time.Second)
	h.sweep()
	h.clock.advance(time.Minute) // the pause of the crash guard
	return h.bench.claim()
}

func agentFrame(l perdure.Lease, text string) perdure.Frame {
	return perdure.Frame{AgentLease: &l, Type: perdure.EventToken, Text: text}
}

// TestZombieAgentWritesNothing checks that a worker that has lost its lease cannot commit, append,
// upload, renew or release, not even with the current fence. No stored data of the execution
// changes.
func TestZombieAgentWritesNothing(t *testing.T) {
	stale := map[string]func(*perdure.Lease){
		"lease of before": func(*perdure.Lease) {},
		"fence of now":    func(l *perdure.Lease) { l.Fence++ },
	}
	for name, edit := range stale {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.started()
			h.commit(func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{user(nil, "hello")} })
			b.signal(h.id, "note", "s1")
			now := takeover(h)
			lease := h.claim.Lease
			edit(&lease)
			before := b.snapshot(h.id)
			for what, try := range map[string]func(*perdure.Commit){
				"append":     func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{user(nil, "ghost")} },
				"schedule":   func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{h.newTask("1")} },
				"take":       func(c *perdure.Commit) { c.Take = []string{"s1"} },
				"checkpoint": func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{} },
				"step":       func(c *perdure.Commit) { c.Steps = []perdure.StepRecord{{Name: "s", Key: "task:1"}} },
				"emit":       func(c *perdure.Commit) { c.Events = []perdure.NewEvent{{Type: perdure.EventData}} },
				"suspend":    suspending(perdure.WaitSignal("x")),
				"complete":   completing(),
				"fail":       func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeFail },
				"cancelled":  func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeCancelled },
			} {
				c := perdure.Commit{Lease: lease, Number: 2}
				try(&c)
				if _, err := b.d.Commit(t.Context(), c); !perdure.IsCode(err, perdure.LeaseLost) {
					t.Errorf("%s gave %v, want lease_lost", what, err)
				}
			}
			replies, err := b.d.Append(t.Context(), []perdure.Frame{agentFrame(lease, "ghost")})
			b.must(err)
			if replies[0].Err == nil || replies[0].Err.Code != perdure.LeaseLost {
				t.Errorf("a frame gave %+v, want lease_lost", replies[0])
			}
			_, err = b.d.PutBlob(t.Context(), perdure.BlobOwner{ExecutionID: h.id, Lease: &lease}, 5, bytes.NewReader([]byte("ghost")))
			b.wantCode(err, perdure.LeaseLost)
			beat, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{lease}})
			b.must(err)
			if !beat.Agents[0].Lost {
				t.Error("the heartbeat renewed a lease that is over")
			}
			b.must(b.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: lease, Panic: "ghost"}}}))
			if after := b.snapshot(h.id); after != before {
				t.Errorf("something was written:\n%s\n%s", before, after)
			}
			now.commit(completing())
		})
	}
}

func TestZombieTaskWritesNothing(t *testing.T) {
	for _, claimedAgain := range []bool{true, false} {
		b := newBench(t)
		h := b.started()
		h.schedule("1")
		zombie := b.taskClaim()
		b.clock.advance(testLease - time.Second)
		_, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
		b.must(err)
		b.clock.advance(2 * time.Second)
		b.sweep()
		var next perdure.TaskClaim
		if claimedAgain {
			next = b.taskClaim()
		}
		before := b.snapshot(h.id)
		for _, f := range []perdure.TaskFinish{done(zombie, `"ghost"`), failed(zombie, true)} {
			_, err := b.d.FinishTask(t.Context(), f)
			b.wantCode(err, perdure.LeaseLost)
		}
		replies, err := b.d.Append(t.Context(), []perdure.Frame{{Lease: &zombie.Lease, Type: perdure.EventToken, Text: "ghost"}})
		b.must(err)
		if replies[0].Err == nil || replies[0].Err.Code != perdure.LeaseLost {
			t.Errorf("a frame gave %+v, want lease_lost", replies[0])
		}
		_, err = b.d.PutBlob(t.Context(), perdure.BlobOwner{ExecutionID: h.id, TaskLease: &zombie.Lease}, 5, bytes.NewReader([]byte("ghost")))
		b.wantCode(err, perdure.LeaseLost)
		b.must(b.d.Release(t.Context(), perdure.Release{Tasks: []perdure.TaskRelease{{Lease: zombie.Lease, Started: true}}}))
		beat, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Tasks: []perdure.TaskHeartbeat{{Lease: zombie.Lease}}})
		b.must(err)
		if !beat.Tasks[0].Lost {
			t.Error("the heartbeat renewed a task's lease that is over")
		}
		if after := b.snapshot(h.id); after != before {
			t.Errorf("something was written:\n%s\n%s", before, after)
		}
		if claimedAgain {
			b.finish(done(next, `"real"`))
		}
	}
}

// TestClaimIDIsCheckedBesideTheFence checks that a request with a wrong claim id is refused
// although its fence or attempt is right. After a failover of the store, two claims may have the
// same fence.
func TestClaimIDIsCheckedBesideTheFence(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1")
	task := b.taskClaim()

	other := *h
	other.claim.Lease.ClaimID = uuid.New()
	_, err := other.try(completing())
	b.wantCode(err, perdure.LeaseLost)
	// A commit with a wrong claim id is refused even if its number is that of a stored commit.
	other.number--
	_, err = other.try(completing())
	b.wantCode(err, perdure.LeaseLost)

	task.Lease.ClaimID = uuid.New()
	_, err = b.d.FinishTask(t.Context(), done(task, `"ghost"`))
	b.wantCode(err, perdure.LeaseLost)
	if got := b.task(h.id, ids[0]); got.Status != perdure.TaskRunning {
		t.Errorf("the task is %s", got.Status)
	}
}

func TestAnotherOrgsExecutionIsUnknown(t *testing.T) {
	b := newBench(t)
	h := b.started()
	foreign := b.e.Dispatch("globex", false)
	_, err := foreign.Commit(t.Context(), perdure.Commit{Lease: h.claim.Lease, Number: 1})
	b.wantCode(err, perdure.NotFound)
	_, err = foreign.Execution(t.Context(), h.id)
	b.wantCode(err, perdure.NotFound)
	_, err = foreign.Tasks(t.Context(), h.id, nil)
	b.wantCode(err, perdure.NotFound)
	_, err = foreign.Signals(t.Context(), h.id, nil, 0, 1)
	b.wantCode(err, perdure.NotFound)
	_, err = b.e.Signal(t.Context(), "globex", h.id, SignalRequest{Name: "x"})
	b.wantCode(err, perdure.NotFound)
	_, _, err = b.e.Cancel(t.Context(), "globex", h.id)
	b.wantCode(err, perdure.NotFound)
	for _, err := range foreign.Entries(t.Context(), perdure.EntryQuery{ExecutionID: h.id}) {
		b.wantCode(err, perdure.NotFound)
	}
	beat, err := foreign.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
	b.must(err)
	if !beat.Agents[0].Lost {
		t.Error("another org renewed the lease")
	}
}
