package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// firstClaimFor is the time after an execution became PENDING for which only the worker that keeps
// its goroutine may claim it.
const firstClaimFor = 500 * time.Millisecond

// parkedBoard records which worker keeps which goroutine, from commits and heartbeats, and which
// workers have open polls. It is in the memory of one server: the first claim of a keeper is only a
// preference, and the rules hold without it.
type parkedBoard struct {
	mu      sync.Mutex // guards the fields below
	workers map[uuid.UUID]*parker
	keeper  map[uuid.UUID]uuid.UUID // maps an execution to a worker
}

// parker is a worker that keeps goroutines or has open polls.
type parker struct {
	heard perdure.Time // time of the newest heartbeat or commit that named kept goroutines
	keeps map[uuid.UUID]keeping
	polls []*openPoll
}

// keeping is a goroutine that a worker keeps.
type keeping struct {
	perdure.Kept
	whole bool // only At is known
}

func (b *parkedBoard) of(worker uuid.UUID) *parker {
	if b.workers == nil {
		b.workers, b.keeper = map[uuid.UUID]*parker{}, map[uuid.UUID]uuid.UUID{}
	}
	p := b.workers[worker]
	if p == nil {
		p = &parker{keeps: map[uuid.UUID]keeping{}}
		b.workers[worker] = p
	}
	return p
}

// heard replaces the goroutines that the worker keeps with those of a heartbeat that are worth
// keeping. Executions that could not be read may belong to another org: for them only what was
// known before is kept.
func (b *parkedBoard) heard(h perdure.Heartbeat, states []perdure.ParkedState, unread []bool, now perdure.Time) {
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
			k = keeping{perdure.Kept{WorkerID: h.WorkerID, At: parked.At}, true}
		}
		p.keeps[parked.ExecutionID] = k
		b.keeper[parked.ExecutionID] = h.WorkerID
	}
	b.tidy(h.WorkerID)
}

// keeps records the goroutine that a worker keeps after its commit suspended the execution.
func (b *parkedBoard) keeps(execution uuid.UUID, k perdure.Kept, now perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(execution)
	p := b.of(k.WorkerID)
	p.heard = now
	p.keeps[execution] = keeping{k, false}
	b.keeper[execution] = k.WorkerID
}

// resumed removes an execution that has been claimed.
func (b *parkedBoard) resumed(execution uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(execution)
}

// drop removes the keeper of the execution; b.mu must be held.
func (b *parkedBoard) drop(execution uuid.UUID) {
	if worker, kept := b.keeper[execution]; kept {
		delete(b.keeper, execution)
		delete(b.workers[worker].keeps, execution)
		b.tidy(worker)
	}
}

// claimed removes an execution that a worker's poll has claimed. It returns the state of the
// goroutine that this worker keeps, nil if that is not completely known.
func (b *parkedBoard) claimed(execution, worker uuid.UUID) *perdure.Kept {
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
func (b *parkedBoard) discarded(worker uuid.UUID, ids []uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if keeper, kept := b.keeper[id]; kept && keeper == worker {
			b.drop(id)
		}
	}
}

// opens adds an open poll of a worker.
func (b *parkedBoard) opens(org string, p perdure.Poll) *openPoll {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &openPoll{org: org, p: p, began: time.Now(), handed: make(chan struct{}, 1), settled: make(chan struct{}, 1)}
	w := b.of(p.WorkerID)
	w.polls = append(w.polls, o)
	return o
}

// closes removes a poll that has ended.
func (b *parkedBoard) closes(o *openPoll) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.of(o.p.WorkerID)
	w.polls = slices.DeleteFunc(w.polls, func(other *openPoll) bool { return other == o })
	b.tidy(o.p.WorkerID)
}

// forget removes all goroutines that the worker keeps; b.mu must be held.
func (b *parkedBoard) forget(worker uuid.UUID) {
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
func (b *parkedBoard) tidy(worker uuid.UUID) {
	if p := b.workers[worker]; p != nil && len(p.polls) == 0 && len(p.keeps) == 0 {
		delete(b.workers, worker)
	}
}

// sweep removes the goroutines of workers that have not reported any since the given time.
func (b *parkedBoard) sweep(before perdure.Time) {
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
func (b *parkedBoard) keptElsewhere(execution, worker uuid.UUID, since perdure.Time) bool {
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

func (b *parkedBoard) firstClaims(e *Engine, worker uuid.UUID) *firstClaims {
	return &firstClaims{e: e, worker: worker}
}

// skip reports whether the execution is left to another worker for now. The committer calls it. It
// reads the engine's memory, which may be out of date; that is safe, because a later pick finds the
// skipped execution.
func (f *firstClaims) skip(execution uuid.UUID, ready perdure.Time) bool {
	now, until := f.e.Store.Now(), ready.Add(firstClaimFor)
	if until.Reached(now) || !f.e.parked.keptElsewhere(execution, f.worker, now.Add(-f.e.Lease)) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() || until.Before(f.until.Time) {
		f.until = until
	}
	return true
}

// over returns the time until the first skipped execution is free for all workers; 0 if none was
// skipped.
func (f *firstClaims) over() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() {
		return 0
	}
	return max(time.Millisecond, f.until.Sub(f.e.Store.Now().Time))
}
