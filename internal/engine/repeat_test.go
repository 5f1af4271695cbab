package engine

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
)

// TestRepeatedCommitBringsNoClaimThatIsLost checks that the reply to a repeated commit does not
// contain the claim of an attempt that was lost between the commit and its repeat. With this claim,
// the worker would run the tool, although the model has been told that the call was interrupted.
func TestRepeatedCommitBringsNoClaimThatIsLost(t *testing.T) {
	b := newBench(t)
	h := b.started()
	var c perdure.Commit
	first := h.commit(func(sent *perdure.Commit) {
		sent.Tasks = []perdure.NewTask{
			h.newTask("1", func(o *perdure.TaskOptions) { o.OnLost = perdure.OnLostReport }), h.newTask("2"), h.newTask("3"),
		}
		sent.Offer = perdure.TaskOffer{WorkerID: b.worker, Kinds: []string{"work"}, Queues: []string{"default"}, Slots: 3}
		c = *sent
	})
	if len(first.Claims) != 3 {
		t.Fatalf("%d attempts were claimed", len(first.Claims))
	}
	b.clock.advance(testLease / 2)
	_, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{
		Agents: []perdure.Lease{h.claim.Lease}, Tasks: []perdure.TaskHeartbeat{{Lease: first.Claims[2].Lease}},
	})
	b.must(err)
	b.clock.advance(testLease / 2)
	b.sweep()
	again, err := b.d.Commit(t.Context(), c)
	b.must(err)
	if len(again.Claims) != 1 || again.Claims[0].Lease != first.Claims[2].Lease {
		t.Fatalf("the repeat brings %+v, want the one that is still held", again.Claims)
	}
	if left := again.Claims[0].LeaseFor; left != testLease/2 {
		t.Errorf("it says that the lease lasts %s, want %s", left, testLease/2)
	}
}

// TestCommitsReturnTheNumberOfRecords checks that a commit and its repeat return the number of
// steps and tasks stored since the newest checkpoint. A task that is scheduled again counts once.
func TestCommitsReturnTheNumberOfRecords(t *testing.T) {
	b := newBench(t)
	h := b.started()
	records := func(want int64, edit func(c *perdure.Commit)) {
		t.Helper()
		var sent perdure.Commit
		first := h.commit(func(c *perdure.Commit) { edit(c); sent = *c })
		again, err := b.d.Commit(t.Context(), sent)
		b.must(err)
		if first.RecordsSinceCheckpoint != want || again.RecordsSinceCheckpoint != want {
			t.Errorf("a commit returns %d records and its repeat %d, want %d", first.RecordsSinceCheckpoint, again.RecordsSinceCheckpoint, want)
		}
	}
	task := h.newTask("1")
	records(2, func(c *perdure.Commit) {
		c.Tasks = []perdure.NewTask{task}
		c.Steps = []perdure.StepRecord{{Name: "s", Key: perdure.StepKey(h.id, "s", ""), Result: perdure.Inline([]byte(`1`))}}
	})
	records(2, func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{task} })
	records(0, func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline([]byte(`1`))} })
}

// TestRepeatedFinishTellsWhatIsLeftOfTheLease checks a task whose end wakes its execution and
// claims the execution for the worker that finished the task. If the worker repeats the end, the
// reply contains the same claim, with the time that is left of the lease.
func TestRepeatedFinishTellsWhatIsLeftOfTheLease(t *testing.T) {
	b := newBench(t)
	h := b.started()
	ids := h.schedule("1")
	task := b.taskClaim()
	h.suspend(perdure.WaitTask(ids[0]))
	f := done(task, "1")
	f.Parked = true
	first := b.finish(f)
	if first.Claim == nil || first.Claim.LeaseFor != testLease {
		t.Fatalf("the end brought %+v", first.Claim)
	}
	b.clock.advance(testLease / 4)
	if again := b.finish(f); again.Claim == nil || again.Claim.LeaseFor != testLease*3/4 {
		t.Errorf("delivered again it brought %+v", again.Claim)
	}
}

// TestStartThatIsRunTwiceIsOne checks that a start is stored once if the store runs its command
// twice.
func TestStartThatIsRunTwiceIsOne(t *testing.T) {
	b := newBench(t)
	b.e.Store = &storetest.Faults{Store: b.s, Plan: func(_ int, c store.Command) storetest.Fault {
		if c.Name == "start" {
			return storetest.Twice
		}
		return storetest.NoFault
	}}
	id := b.start()
	if b.count(id, perdure.EventCreated) != 1 {
		t.Errorf("its log is %v", b.events(id))
	}
}
