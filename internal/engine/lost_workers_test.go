package engine

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestWhatAWorkerThatIsGoneHeldIsTakenBack checks that an execution becomes PENDING half a second
// after its worker's connection was lost, and not earlier.
func TestWhatAWorkerThatIsGoneHeldIsTakenBack(t *testing.T) {
	b := newBench(t)
	h := b.started()
	b.e.WorkerGone(org, uuid.New()) // this is another worker
	b.e.WorkerGone("other", b.worker)
	b.clock.advance(reconnectTimeout)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusRunning)
	b.e.WorkerGone(org, b.worker)
	b.clock.advance(reconnectTimeout - time.Millisecond)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusRunning)
	b.clock.advance(time.Millisecond)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusPending)
	if x := b.execution(h.id); x.Crashes != 2 {
		t.Errorf("its score is %d", x.Crashes)
	}
	if next := b.claim(); next.claim.WakeReason != perdure.WakeLost || next.claim.Lease.Fence != 2 {
		t.Errorf("it woke by %s with fence %d", next.claim.WakeReason, next.claim.Lease.Fence)
	}
	_, err := h.try(func(*perdure.Commit) {})
	b.wantCode(err, perdure.LeaseLost)
}

// TestAWorkerThatIsBackKeepsWhatItHolds checks that a worker keeps its execution if it polls, sends
// a heartbeat or renews the lease before the half second is over.
func TestAWorkerThatIsBackKeepsWhatItHolds(t *testing.T) {
	b := newBench(t)
	h := b.started()
	for name, back := range map[string]func(){
		"a poll": func() {
			_, err := b.d.PollAgents(t.Context(), b.poll(1))
			b.must(err)
		},
		"a heartbeat": func() {
			_, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{WorkerID: b.worker, Agents: []perdure.Lease{h.claim.Lease}})
			b.must(err)
		},
		"a renewal elsewhere": func() {
			_, err := b.e.renewAgent(t.Context(), org, h.claim.Lease)
			b.must(err)
		},
	} {
		b.e.WorkerGone(org, b.worker)
		b.clock.advance(reconnectTimeout / 2)
		back()
		b.clock.advance(reconnectTimeout)
		b.sweep()
		if x := b.execution(h.id); x.Status != perdure.StatusRunning {
			t.Fatalf("after %s it is %s", name, x.Status)
		}
	}
}
