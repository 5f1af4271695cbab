package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// firstClaimFor is the time during which only the worker that keeps the goroutine may claim an
// execution that became PENDING.
const firstClaimFor = 500 * time.Millisecond

// keeperBoard records which worker keeps the goroutine of which execution, from commits and
// heartbeats, and which workers have open polls. Each server has its own board, which may be out of
// date. It is used only for preferences, so the rules hold without it.
type keeperBoard struct {
	mu      sync.Mutex // guards the fields below
	workers map[uuid.UUID]*goroutineKeeper
	keeper  map[uuid.UUID]uuid.UUID // maps an execution to a worker
}

// goroutineKeeper is a worker that keeps goroutines or has open polls.
type goroutineKeeper struct {
	heard perdure.Time // time of the newest heartbeat or commit that named kept goroutines
	keeps map[uuid.UUID]parkedGoroutine
	polls []*openPoll
}

// parkedGoroutine is a goroutine that a worker keeps.
type parkedGoroutine struct {
	perdure.Kept
	whole bool // only At is known, so the claim must contain all data
}

func (b *keeperBoard) of(worker uuid.UUID) *goroutineKeeper {
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

// heard replaces the goroutines of the worker with those of a heartbeat whose state is ParkedKeep.
// An execution that could not be read may belong to another org. heard then keeps it only if the
// board had the same entry before.
func (b *keeperBoard) heard(h perdure.Heartbeat, states []perdure.ParkedState, unread []bool, now perdure.Time) {
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
			k = parkedGoroutine{perdure.Kept{WorkerID: h.WorkerID, At: parked.At}, true}
		}
		p.keeps[parked.ExecutionID] = k
		b.keeper[parked.ExecutionID] = h.WorkerID
	}
	b.tidy(h.WorkerID)
}

// keeps records the goroutine that a worker keeps after a commit that suspended the execution.
func (b *keeperBoard) keeps(execution uuid.UUID, k perdure.Kept, now perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(execution)
	p := b.of(k.WorkerID)
	p.heard = now
	p.keeps[execution] = parkedGoroutine{k, false}
	b.keeper[execution] = k.WorkerID
}

// resumed removes an execution that has been claimed from the board.
func (b *keeperBoard) resumed(execution uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(execution)
}

// drop removes the keeper of the execution; b.mu must be held.
func (b *keeperBoard) drop(execution uuid.UUID) {
	if worker, kept := b.keeper[execution]; kept {
		delete(b.keeper, execution)
		delete(b.workers[worker].keeps, execution)
		b.tidy(worker)
	}
}

// claimed removes an execution that a worker's poll has claimed. It returns the state of the
// goroutine that this worker keeps. It returns nil if the worker keeps none, or if the state is not
// completely known.
func (b *keeperBoard) claimed(execution, worker uuid.UUID) *perdure.Kept {
	b.mu.Lock()
	defer b.mu.Unlock()
	var kept *perdure.Kept
	if b.keeper[execution] == worker && worker != uuid.Nil {
		if k := b.workers[worker].keeps[execution]; !k.whole {
			kept = &k.Kept
		}
	}
	b.drop(execution)
	return kept
}

// discarded removes goroutines that a worker has discarded.
func (b *keeperBoard) discarded(worker uuid.UUID, ids []uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if keeper, kept := b.keeper[id]; kept && keeper == worker {
			b.drop(id)
		}
	}
}

// opens adds an open poll of a worker.
func (b *keeperBoard) opens(org string, p perdure.Poll) *openPoll {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &openPoll{org: org, p: p, began: time.Now(), handed: make(chan struct{}, 1), settled: make(chan struct{}, 1)}
	w := b.of(p.WorkerID)
	w.polls = append(w.polls, o)
	return o
}

// closes removes a poll that has ended.
func (b *keeperBoard) closes(o *openPoll) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.of(o.p.WorkerID)
	w.polls = slices.DeleteFunc(w.polls, func(other *openPoll) bool { return other == o })
	b.tidy(o.p.WorkerID)
}

// forget removes all goroutines that the worker keeps; b.mu must be held.
func (b *keeperBoard) forget(worker uuid.UUID) {
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

// tidy removes a worker without goroutines and polls; b.mu must be held.
func (b *keeperBoard) tidy(worker uuid.UUID) {
	if p := b.workers[worker]; p != nil && len(p.polls) == 0 && len(p.keeps) == 0 {
		delete(b.workers, worker)
	}
}

// sweep removes the goroutines of workers that have not reported any since the given time.
func (b *keeperBoard) sweep(before perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for worker, p := range b.workers {
		if p.heard.Before(before.Time) {
			b.forget(worker)
			b.tidy(worker)
		}
	}
}

// keptElsewhere reports whether a worker other than the given one keeps the execution's goroutine,
// has reported so since the given time, and has an open poll.
func (b *keeperBoard) keptElsewhere(execution, worker uuid.UUID, since perdure.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	keeper, kept := b.keeper[execution]
	if !kept || keeper == worker {
		return false
	}
	p := b.workers[keeper]
	return p != nil && len(p.polls) > 0 && !p.heard.Before(since.Time)
}

// firstClaims decides for one poll which executions it leaves to other workers.
type firstClaims struct {
	e      *Engine
	worker uuid.UUID
	mu     sync.Mutex // guards until
	until  perdure.Time
}

func (b *keeperBoard) firstClaims(e *Engine, worker uuid.UUID) *firstClaims {
	return &firstClaims{e: e, worker: worker}
}

// skip reports whether the poll should leave the execution to another worker for now. The committer
// calls it. The answer comes from memory and may be out of date. That is safe, because a later poll
// finds the skipped execution.
func (f *firstClaims) skip(execution uuid.UUID, ready perdure.Time) bool {
	now, until := f.e.Store.Now(), ready.Add(firstClaimFor)
	if until.Reached(now) || !f.e.keepers.keptElsewhere(execution, f.worker, now.Add(-f.e.Lease)) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() || until.Before(f.until.Time) {
		f.until = until
	}
	return true
}

// over returns the time until all workers may claim the first of the skipped executions; 0 if none
// was skipped.
func (f *firstClaims) over() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() {
		return 0
	}
	return max(time.Millisecond, f.until.Sub(f.e.Store.Now().Time))
}
