// Package board contains what one server knows about workers, in memory only. It records which
// worker keeps which goroutine and which workers have open polls, are to become idle, were seen
// lately, or lost their connection.
package board

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Keepers records which worker keeps the goroutine of which execution, as commits and heartbeats
// report it, and which workers have open polls. Each server has its own Keepers, which may be out
// of date, because Keepers determines only which worker is preferred.
//
// Keepers also makes handovers possible: if a worker keeps the goroutine of a suspended execution,
// the command that wakes the execution can claim it for that worker in the same transaction. This
// requires that the worker has an open poll on this server, and the poll then returns the claim.
// Otherwise the execution becomes PENDING, and any poll can claim it.
//
// A slot of the poll is reserved before the transaction, and a poll does not end while one of its
// slots is reserved. A handover is therefore as safe as a claim by the poll itself.
type Keepers struct {
	clock Clock
	lease time.Duration

	mu      sync.Mutex // guards the fields below
	workers map[uuid.UUID]*goroutineKeeper
	keeper  map[uuid.UUID]uuid.UUID // maps an execution to a worker
}

// Clock is the clock of the store.
type Clock interface{ Now() perdure.Time }

// NewKeepers creates a Keepers without workers. A goroutine that a worker has reported in a
// heartbeat counts as kept for the duration of a lease.
func NewKeepers(c Clock, lease time.Duration) *Keepers { return &Keepers{clock: c, lease: lease} }

// goroutineKeeper is what this server records about a worker that keeps goroutines or has open
// polls.
type goroutineKeeper struct {
	heard perdure.Time // time of the newest heartbeat or commit that named kept goroutines
	keeps map[uuid.UUID]parkedGoroutine
	polls []*Poll
}

// parkedGoroutine is the state of a goroutine that a worker keeps.
type parkedGoroutine struct {
	perdure.RetainedState
	whole bool // only the field At is known, so the claim must contain all data
}

func (b *Keepers) of(worker uuid.UUID) *goroutineKeeper {
	if b.workers == nil {
		b.workers, b.keeper = map[uuid.UUID]*goroutineKeeper{}, map[uuid.UUID]uuid.UUID{}
	}
	p := b.workers[worker]
	if p == nil {
		p = &goroutineKeeper{keeps: map[uuid.UUID]parkedGoroutine{}}
		b.workers[worker] = p
	}
	return p
}

// Heard replaces the goroutines that are recorded for a worker by those in its heartbeat h whose
// state is ParkedKeep. If `unread` is true for a goroutine, the server could not read the
// execution, which may belong to another org. Heard then records the goroutine only if it was
// already recorded for this worker and commit.
func (b *Keepers) Heard(h perdure.Heartbeat, states []perdure.ParkedState, unread []bool, now perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.of(h.WorkerID)
	known := maps.Clone(p.keeps)
	b.forget(h.WorkerID)
	p.heard = now
	for i, parked := range h.Parked {
		if states[i] != perdure.ParkedKeep {
			continue
		}
		k, before := known[parked.ExecutionID]
		if unread[i] && (!before || k.At != parked.At) {
			continue
		}
		if k.At != parked.At {
			k = parkedGoroutine{perdure.RetainedState{WorkerID: h.WorkerID, At: parked.At}, true}
		}
		p.keeps[parked.ExecutionID] = k
		b.keeper[parked.ExecutionID] = h.WorkerID
	}
	b.tidy(h.WorkerID)
}

// Keep records the goroutine that a worker keeps after a commit that suspended the execution.
func (b *Keepers) Keep(execution uuid.UUID, k perdure.RetainedState, now perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(execution)
	p := b.of(k.WorkerID)
	p.heard = now
	p.keeps[execution] = parkedGoroutine{k, false}
	b.keeper[execution] = k.WorkerID
}

// Resumed removes what is recorded about an execution, because it has been claimed.
func (b *Keepers) Resumed(execution uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(execution)
}

// drop removes what is recorded about the goroutine of the execution; b.mu must be held.
func (b *Keepers) drop(execution uuid.UUID) {
	if worker, kept := b.keeper[execution]; kept {
		delete(b.keeper, execution)
		delete(b.workers[worker].keeps, execution)
		b.tidy(worker)
	}
}

// Claimed removes what is recorded about an execution, because a poll of the worker has claimed it.
// If this worker keeps the execution's goroutine and the state of the goroutine is completely
// known, Claimed returns that state; otherwise nil.
func (b *Keepers) Claimed(execution, worker uuid.UUID) *perdure.RetainedState {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kept *perdure.RetainedState
	if b.keeper[execution] == worker && worker != uuid.Nil {
		if k := b.workers[worker].keeps[execution]; !k.whole {
			kept = &k.RetainedState
		}
	}
	b.drop(execution)
	return kept
}

// Discarded removes what is recorded about goroutines that the worker has discarded. The ids are
// those of their executions.
func (b *Keepers) Discarded(worker uuid.UUID, ids []uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if keeper, kept := b.keeper[id]; kept && keeper == worker {
			b.drop(id)
		}
	}
}

// Open adds an open poll of a worker.
func (b *Keepers) Open(org string, p perdure.Poll) *Poll {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &Poll{Poll: p, Began: time.Now(), org: org, handed: make(chan struct{}, 1), settled: make(chan struct{}, 1)}
	w := b.of(p.WorkerID)
	w.polls = append(w.polls, o)
	return o
}

// Close removes a poll that has ended.
func (b *Keepers) Close(o *Poll) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.of(o.WorkerID)
	w.polls = slices.DeleteFunc(w.polls, func(other *Poll) bool { return other == o })
	b.tidy(o.WorkerID)
}

// forget removes what is recorded about the goroutines of the worker; b.mu must be held.
func (b *Keepers) forget(worker uuid.UUID) {
	p := b.workers[worker]
	if p == nil {
		return
	}
	for id := range p.keeps {
		if b.keeper[id] == worker {
			delete(b.keeper, id)
		}
	}
	clear(p.keeps)
}

// tidy removes the worker if it has neither goroutines nor polls; b.mu must be held.
func (b *Keepers) tidy(worker uuid.UUID) {
	if p := b.workers[worker]; p != nil && len(p.polls) == 0 && len(p.keeps) == 0 {
		delete(b.workers, worker)
	}
}

// Sweep removes the goroutines of workers that last reported a goroutine before the given time.
func (b *Keepers) Sweep(before perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for worker, p := range b.workers {
		if p.heard.Before(before.Time) {
			b.forget(worker)
			b.tidy(worker)
		}
	}
}
