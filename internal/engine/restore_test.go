package engine

import (
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/longtest"
)

// restored returns two claims of one execution that have the same fence and commit number. After
// the commit of the first claim, the store is restored from a backup that is older than that claim,
// and the second claim is made. So the store knows only the second claim.
func restored(b *bench) (lost, now *holder) {
	b.Helper()
	b.start()
	b.must(b.s.Close())
	backup, err := os.ReadFile(b.path)
	b.must(err)
	b.open()
	b.register()
	lost = b.claim()
	lost.commit(suspending(perdure.WaitSignal("go")))
	b.must(b.s.Close())
	b.must(os.WriteFile(b.path, backup, 0o600))
	b.open()
	b.register()
	now = b.claim()
	now.commit(suspending(perdure.WaitSignal("go")))
	if now.claim.Lease.Fence != lost.claim.Lease.Fence || now.number != lost.number {
		b.Fatalf("the claims have the fences %d and %d: this test needs one", lost.claim.Lease.Fence, now.claim.Lease.Fence)
	}
	return lost, now
}

// at returns the number of the holder's last commit. It identifies the state of a goroutine that
// parked after that commit.
func (h *holder) at() perdure.CommitNumber {
	return perdure.CommitNumber{Fence: h.claim.Lease.Fence, Number: h.number, ClaimID: h.claim.Lease.ClaimID}
}

// TestAGoroutineFromBeforeARestoreIsNotGoneOnWith checks that a goroutine that parked before a
// restore of the store is not continued. After a restore, fences and commit numbers repeat, so
// those of the goroutine can equal the current ones. Only the claim id differs.
func TestAGoroutineFromBeforeARestoreIsNotGoneOnWith(t *testing.T) {
	longtest.Skip(t, "seconds")
	t.Run("a heartbeat has it dropped", func(t *testing.T) {
		b := newBench(t)
		lost, now := restored(b)
		for h, want := range map[*holder]perdure.ParkedState{lost: perdure.ParkedMoved, now: perdure.ParkedKeep} {
			reply, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{WorkerID: b.worker, Parked: []perdure.ParkedExecution{{ExecutionID: h.id, At: h.at()}}})
			b.must(err)
			if reply.Parked[0] != want {
				t.Errorf("of %v the heartbeat says %s, want %s", h.at(), reply.Parked[0], want)
			}
		}
	})
	t.Run("a claim tells where the execution stands", func(t *testing.T) {
		b := newBench(t)
		lost, now := restored(b)
		b.signal(now.id, "go", "s1")
		if got := b.claim().claim.LastCommit; got != now.at() || got.Same(lost.at()) {
			t.Errorf("the claim is made at %+v, want %+v", got, now.at())
		}
	})
	t.Run("no signal is handed over to it", func(t *testing.T) {
		bubble.Test(t, func(t *testing.T) {
			b := newBench(t)
			lost, now := restored(b)
			b.e.keepers.Keep(now.id, perdure.RetainedState{WorkerID: b.worker, At: lost.at()}, b.s.Now())
			poll := b.waits(b.d, b.poll(1))
			reply, err := b.e.Signal(t.Context(), org, now.id, SignalRequest{Name: "go"})
			b.must(err)
			if reply.Status != perdure.StatusPending {
				t.Errorf("the signal was answered %s", reply.Status)
			}
			poll.leave()
			<-poll.claims
		})
	})
	t.Run("the end of a task brings it everything", func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		id, claim := h.scheduled("1")
		h.suspend(perdure.WaitTask(id))
		f := done(claim, `"out"`)
		at := h.at()
		at.ClaimID = uuid.New()
		f.Parked, f.Retained = true, &perdure.RetainedState{WorkerID: b.worker, At: at}
		if got := b.finish(f).Claim; got == nil || got.ContinuesParked || got.Execution.Input == nil {
			t.Errorf("the claim is %+v", got)
		}
	})
}
