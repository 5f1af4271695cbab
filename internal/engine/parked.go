package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// firstClaimFor is how long an execution is left to the worker that keeps its
// goroutine, from when it became PENDING.
const firstClaimFor = 500 * time.Millisecond

// parkedBoard knows which worker keeps whose goroutine, by their commits and
// heartbeats, and which of them have a poll open. It is a server's own memory:
// first claims are a preference, and nothing is wrong without them.
type parkedBoard struct {
	mu      sync.Mutex // guards what follows
	workers map[uuid.UUID]*parker
	keeper  map[uuid.UUID]uuid.UUID // execution to worker
}

// parker is a worker that keeps goroutines, or polls.
type parker struct {
	heard perdure.Time // the newest heartbeat, or commit, that named some
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

// heard takes over what a heartbeat says that the worker keeps, and is worth it. Of
// what could not be read nothing new is believed: it may be another org's.
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

// keeps takes over what a commit that has suspended the execution says.
func (b *parkedBoard) keeps(execution uuid.UUID, k perdure.Kept, now perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(execution)
	p := b.of(k.WorkerID)
	p.heard = now
	p.keeps[execution] = keeping{k, false}
	b.keeper[execution] = k.WorkerID
}

// resumed takes back that an execution's goroutine waits: it has been claimed.
func (b *parkedBoard) resumed(execution uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(execution)
}

// drop forgets who keeps the execution; b.mu is held.
func (b *parkedBoard) drop(execution uuid.UUID) {
	if worker, kept := b.keeper[execution]; kept {
		delete(b.keeper, execution)
		delete(b.workers[worker].keeps, execution)
		b.tidy(worker)
	}
}

// claimed takes note of a claim by a worker's poll, and returns what the worker
// keeps of the execution; nil if that is not known in full.
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

// discarded takes back what a worker keeps no more.
func (b *parkedBoard) discarded(worker uuid.UUID, ids []uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		if keeper, kept := b.keeper[id]; kept && keeper == worker {
			b.drop(id)
		}
	}
}

// opens counts a poll as open until it closes.
func (b *parkedBoard) opens(org string, p perdure.Poll) *openPoll {
	b.mu.Lock()
	defer b.mu.Unlock()
	o := &openPoll{org: org, p: p, began: time.Now(), handed: make(chan struct{}, 1), settled: make(chan struct{}, 1)}
	w := b.of(p.WorkerID)
	w.polls = append(w.polls, o)
	return o
}

// closes ends a poll.
func (b *parkedBoard) closes(o *openPoll) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.of(o.p.WorkerID)
	w.polls = slices.DeleteFunc(w.polls, func(other *openPoll) bool { return other == o })
	b.tidy(o.p.WorkerID)
}

// forget drops what the worker keeps; b.mu is held.
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

// tidy drops a worker of which nothing is known; b.mu is held.
func (b *parkedBoard) tidy(worker uuid.UUID) {
	if p := b.workers[worker]; p != nil && len(p.polls) == 0 && len(p.keeps) == 0 {
		delete(b.workers, worker)
	}
}

// sweep drops what workers say no more that they keep.
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

// keptElsewhere reports whether another worker than the given one keeps the
// execution's goroutine, says so, and polls for it.
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

// firstClaims is one poll's view of the first claims of others.
type firstClaims struct {
	e      *Engine
	worker uuid.UUID
	mu     sync.Mutex // guards until
	until  perdure.Time
}

func (b *parkedBoard) firstClaims(e *Engine, worker uuid.UUID) *firstClaims {
	return &firstClaims{e: e, worker: worker}
}

// skip reports whether the execution is left to another worker for now. The
// committer calls it; that it asks the engine's memory makes the pick no less
// right, for what it leaves out comes again.
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

// over is how long it is until the first of the skipped is anybody's; 0 if none
// was skipped.
func (f *firstClaims) over() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() {
		return 0
	}
	return max(time.Millisecond, f.until.Sub(f.e.Store.Now().Time))
}
