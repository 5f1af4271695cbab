package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/engine/board"
)

// keeping sends a heartbeat of the worker, which says that the worker keeps the goroutine of h.
func (h *holder) keeping(worker uuid.UUID) {
	h.Helper()
	_, err := h.d.Heartbeat(h.Context(), perdure.Heartbeat{
		WorkerID: worker, Parked: []perdure.ParkedExecution{{ExecutionID: h.id, At: perdure.CommitNumber{Fence: h.claim.Lease.Fence, Number: h.number}}},
	})
	h.must(err)
}

// openPoll opens a poll of the worker. The returned function closes the poll.
func (b *bench) openPoll(worker uuid.UUID) (closed func()) {
	p := b.poll(1)
	p.WorkerID = worker
	o := b.e.keepers.Open(org, p)
	return func() { b.e.keepers.Close(o) }
}

// TestDiscardsOfNobody checks that the server accepts the report that a worker has discarded
// goroutines that it never kept, even with a zero worker id.
func TestDiscardsOfNobody(t *testing.T) {
	b := newBench(t)
	for _, worker := range []uuid.UUID{{}, uuid.New()} {
		b.must(b.e.Dispatch(org, false).Release(t.Context(), perdure.Release{WorkerID: worker, Discarded: []uuid.UUID{uuid.New(), {}}}))
	}
}

// keptGoroutine returns an execution that is PENDING after a suspend and a signal. The worker with
// the id `keeper` has parked the execution's goroutine.
func keptGoroutine(b *bench, keeper uuid.UUID) *holder {
	b.Helper()
	b.start()
	h := b.pollOf(keeper, 1)[0]
	h.suspend(perdure.WaitSignal("go"))
	h.keeping(keeper)
	b.signal(h.id, "go", "s1")
	return h
}

// TestLastWorkerHasFirstClaim checks that in the first 500 ms only the worker that keeps the
// goroutine may claim an execution. An execution whose goroutine no worker keeps can be claimed at
// once.
func TestLastWorkerHasFirstClaim(t *testing.T) {
	b := newBench(t)
	keeper, other := uuid.New(), uuid.New()
	h := keptGoroutine(b, keeper)
	closed := b.openPoll(keeper)
	defer closed()
	second := b.start() // became pending later, and is not delayed
	if got := b.pollOf(other, 8); len(got) != 1 || got[0].id != second {
		t.Fatalf("another worker got %d executions, want the one that nobody keeps", len(got))
	}
	b.clock.advance(board.FirstClaimFor - time.Millisecond)
	if got := b.pollOf(other, 8); len(got) != 0 {
		t.Fatal("another worker claimed it within 500 ms")
	}
	if got := b.pollOf(keeper, 8); len(got) != 1 || got[0].id != h.id {
		t.Error("the worker that keeps it did not get it")
	}
}

func TestFirstClaimEnds(t *testing.T) {
	for name, over := range map[string]func(b *bench, h *holder, keeper uuid.UUID, closed func()){
		"after 500 ms":         func(b *bench, _ *holder, _ uuid.UUID, _ func()) { b.clock.advance(board.FirstClaimFor) },
		"without an open poll": func(_ *bench, _ *holder, _ uuid.UUID, closed func()) { closed() },
		"once it is discarded": func(b *bench, h *holder, keeper uuid.UUID, _ func()) {
			b.must(b.d.Release(b.Context(), perdure.Release{WorkerID: keeper, Discarded: []uuid.UUID{h.id}}))
		},
		"once the heartbeat says it no more": func(b *bench, _ *holder, keeper uuid.UUID, _ func()) {
			_, err := b.d.Heartbeat(b.Context(), perdure.Heartbeat{WorkerID: keeper})
			b.must(err)
		},
		"once the heartbeats are over": func(b *bench, _ *holder, _ uuid.UUID, _ func()) {
			b.e.keepers.Sweep(b.s.Now().Add(time.Second))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			keeper := uuid.New()
			h := keptGoroutine(b, keeper)
			closed := b.openPoll(keeper)
			once := false
			closeOnce := func() {
				if !once {
					once = true
					closed()
				}
			}
			defer closeOnce()
			if got := b.pollOf(uuid.New(), 8); len(got) != 0 {
				t.Fatal("there was no first claim")
			}
			over(b, h, keeper, closeOnce)
			if got := b.pollOf(uuid.New(), 8); len(got) != 1 || got[0].id != h.id {
				t.Errorf("another worker got %d executions", len(got))
			}
		})
	}
}

// TestDiscardIsTheKeepersOwn checks that the report of a discarded goroutine has an effect only if
// it comes from the worker that keeps the goroutine.
func TestDiscardIsTheKeepersOwn(t *testing.T) {
	b := newBench(t)
	keeper, other := uuid.New(), uuid.New()
	h := keptGoroutine(b, keeper)
	defer b.openPoll(keeper)()
	b.must(b.d.Release(t.Context(), perdure.Release{WorkerID: other, Discarded: []uuid.UUID{h.id}}))
	if got := b.pollOf(other, 8); len(got) != 0 {
		t.Error("a worker took away another's first claim")
	}
}

// TestEndOfFirstClaimIsATimer checks a poll that leaves an execution to the worker that keeps the
// execution's goroutine. The poll gets the execution when 500 ms are over. No hint arrives, and
// Tick is an hour, so only the timer of the poll can be the cause.
func TestEndOfFirstClaimIsATimer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		keeper := uuid.New()
		h := keptGoroutine(b, keeper)
		defer b.openPoll(keeper)()
		first := b.e.keepers.FirstClaims(uuid.New())
		if first.Over() != 0 {
			t.Error("without a skip a poll looks again")
		}
		if !first.Skip(h.id, b.execution(h.id).ReadyAt) || first.Over() != board.FirstClaimFor {
			t.Errorf("a poll that left it looks again in %s, want %s", first.Over(), board.FirstClaimFor)
		}
		got := make(chan []perdure.AgentClaim, 1)
		p := b.poll(1)
		p.WorkerID, p.Wait = uuid.New(), time.Minute
		begun := time.Now()
		go func() {
			claims, err := b.d.PollAgents(t.Context(), p)
			if err != nil {
				t.Error(err)
			}
			got <- claims
		}()
		synctest.Wait() // it has found nothing, and waits
		b.clock.advance(board.FirstClaimFor)
		if claims := <-got; len(claims) != 1 || claims[0].Lease.ExecutionID != h.id {
			t.Errorf("%d claims", len(claims))
		}
		if took := time.Since(begun); took != board.FirstClaimFor {
			t.Errorf("it looked again after %s", took)
		}
	})
}
