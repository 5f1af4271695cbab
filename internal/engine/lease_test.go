package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/store"
)

// crash makes `n` leases of the execution expire, one after the other: the lease of h, and then
// that of each of the next claims.
func (h *holder) crash(n int) {
	h.Helper()
	for i := range n {
		h.clock.advance(testLease)
		h.sweep()
		if i == n-1 {
			return
		}
		h.clock.advance(time.Minute)
		h.bench.claim()
	}
}

func TestExpiredLeaseIsTakenBack(t *testing.T) {
	b := newBench(t)
	h := b.started()
	b.clock.advance(testLease - time.Second)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusRunning)
	reply, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
	b.must(err)
	if reply.Agents[0] != (perdure.AgentHeartbeatReply{}) {
		t.Fatalf("the heartbeat says %+v", reply.Agents[0])
	}
	b.clock.advance(testLease - time.Second) // the lease was renewed and is still valid
	b.sweep()
	b.wantStatus(h.id, perdure.StatusRunning)
	b.signal(h.id, "m", "s1")
	reply, err = b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
	b.must(err)
	if !reply.Agents[0].SignalsPending {
		t.Error("the heartbeat does not tell of the signal")
	}
	b.clock.advance(testLease)
	b.sweep()
	b.wantStatus(h.id, perdure.StatusPending)
	if next := b.claim(); next.claim.WakeReason != perdure.WakeLost || next.claim.Lease.Fence != 2 {
		t.Errorf("it woke by %s with fence %d", next.claim.WakeReason, next.claim.Lease.Fence)
	}
}

func TestGivenBackClaimsAreNoCrashes(t *testing.T) {
	b := newBench(t)
	h := b.started()
	for range 15 {
		b.must(b.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease}}}))
		if h = b.claim(); h.claim.WakeReason != perdure.WakeReturned {
			t.Fatalf("it woke by %s", h.claim.WakeReason)
		}
	}
	h.commit(completing())
}

func TestEmbeddedLeasesAreReturnedAtOnce(t *testing.T) {
	b := newBench(t)
	b.d = b.e.Dispatch(org, true)
	h := b.started()
	retry, report := h.newTask("1"), h.newTask("2", func(o *perdure.TaskOptions) { o.OnLost = perdure.OnLostReport })
	h.commit(func(c *perdure.Commit) { c.Tasks = []perdure.NewTask{retry, report} })
	b.taskClaims()
	waiting := b.started()
	ids := waiting.schedule("3")
	b.taskClaims()
	waiting.suspend(perdure.WaitTask(ids[0]))
	// The execution `other` is claimed as by a remote worker. ReturnEmbedded does not end such
	// leases: it ends only those of workers inside the server process.
	b.d = b.e.Dispatch(org, false)
	other := b.started()

	b.must(b.e.ReturnEmbedded(t.Context()))
	b.wantStatus(h.id, perdure.StatusPending)
	b.wantStatus(waiting.id, perdure.StatusWaiting)
	b.wantStatus(other.id, perdure.StatusRunning)
	if got := b.task(h.id, perdure.TaskID(retry.Key)).Status; got != perdure.TaskPending {
		t.Errorf("a task to retry is %s", got)
	}
	if got := b.task(h.id, perdure.TaskID(report.Key)).Status; got != perdure.TaskInterrupted {
		t.Errorf("a task to report is %s", got)
	}
	if got := b.task(waiting.id, ids[0]).Status; got != perdure.TaskPending {
		t.Errorf("the task of the one that waits is %s", got)
	}
}

// TestServerIsQuietAfterAnOutage checks that a server ends no lease during the first 0.9 lease
// durations after its start or after a stall of its sweep loop. Later it ends leases that were not
// renewed.
func TestServerIsQuietAfterAnOutage(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		b.clock.advance(time.Hour) // the servers were stopped
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- b.e.Run(ctx) }()
		t.Cleanup(stop)
		quiet := func(what string) {
			t.Helper()
			for range 18 {
				time.Sleep(testLease / 20)
				b.clock.advance(testLease / 20)
			}
			b.wantStatus(h.id, perdure.StatusRunning)
			beat, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
			b.must(err)
			if beat.Agents[0].Lost {
				t.Fatalf("%s the lease was lost", what)
			}
		}
		quiet("at the start")
		for range 40 { // the quiet time ends, and leases are renewed again
			time.Sleep(testLease / 20)
			b.clock.advance(testLease / 20)
			_, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
			b.must(err)
		}
		b.clock.advance(time.Hour) // the machine slept
		quiet("after a stall")
		for range 60 {
			time.Sleep(testLease / 20)
			b.clock.advance(testLease / 20)
		}
		b.wantStatus(h.id, perdure.StatusPending)
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

func TestParkedGoroutinesAreToldOf(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.suspend(perdure.WaitSignal("go"))
	at := perdure.ParkedExecution{ExecutionID: h.id, At: perdure.CommitNumber{Fence: 1, Number: 1}}
	state := func() perdure.ParkedState {
		reply, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Parked: []perdure.ParkedExecution{at}})
		b.must(err)
		return reply.Parked[0]
	}
	if got := state(); got != perdure.ParkedKeep {
		t.Errorf("while it waits: %s", got)
	}
	b.signal(h.id, "go", "s1")
	if got := state(); got != perdure.ParkedKeep {
		t.Errorf("while it is pending: %s", got)
	}
	h = b.claim()
	h.commit(func(*perdure.Commit) {})
	if got := state(); got != perdure.ParkedMoved {
		t.Errorf("after another's commit: %s", got)
	}
	h.commit(completing())
	if got := state(); got != perdure.ParkedEnded {
		t.Errorf("after the end: %s", got)
	}
}

// looks is a store that counts how often sweeps read the leases.
type looks struct {
	store.Store
	n atomic.Int64
}

func (l *looks) Due(ctx context.Context, q store.DueQuery) (store.Due, error) {
	if q.Leases {
		l.n.Add(1)
	}
	return l.Store.Due(ctx, q)
}

// TestLeasesAreLookedAtWhenTheFirstIsOver checks that sweeps read the leases at most 20 times in
// four lease durations while workers renew the leases. A lease that has expired is found within two
// sweeps.
func TestLeasesAreLookedAtWhenTheFirstIsOver(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		l := &looks{Store: b.s}
		b.use(l)
		h := b.started()
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- b.e.Run(ctx) }()
		t.Cleanup(stop)
		const step = 100 * time.Millisecond
		pass := func(d time.Duration, renewed bool) {
			for at := time.Duration(0); at < d; at += step {
				if renewed && at%(testLease/3) < step {
					_, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
					b.must(err)
				}
				time.Sleep(step)
				b.clock.advance(step)
			}
		}
		pass(2*testLease, true) // the start of a server counts as an outage
		before := l.n.Load()
		pass(4*testLease, true)
		if n := l.n.Load() - before; n < 4 || n > 20 {
			t.Errorf("they were looked at %d times in four leases", n)
		}
		pass(step, true)
		pass(testLease-time.Second, false)
		b.wantStatus(h.id, perdure.StatusRunning)
		pass(time.Second+2*sweep, false)
		b.wantStatus(h.id, perdure.StatusPending)
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}
