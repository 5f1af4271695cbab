package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// sources are the workers that serve the contents of their LOCAL executions, and
// when each was last heard of.
type sources struct {
	mu  sync.Mutex // guards all
	all map[workerKey]*home
}

// workerKey names a worker: its id means nothing outside of its org.
type workerKey struct {
	org    string
	worker uuid.UUID
}

// home is a worker that keeps LOCAL executions.
type home struct {
	served []*served // its connections, the newest last
	polls  int       // open ones
	seen   perdure.Time
}

type served struct{ source perdure.ContentSource }

// mostHomes bounds how many workers that are away are remembered.
const mostHomes = 10_000

// at calls change with the home of that key. A worker is remembered from when it
// is first heard of, in this process.
func (s *sources) at(key workerKey, now perdure.Time, change func(*home)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.all[key]
	if h == nil {
		if s.all == nil {
			s.all = map[workerKey]*home{}
		}
		s.makeRoom()
		h = &home{}
		s.all[key] = h
	}
	h.seen = now
	change(h)
}

func (s *sources) makeRoom() {
	if len(s.all) < mostHomes {
		return
	}
	for key, h := range s.all {
		if !h.connected() {
			delete(s.all, key)
			return
		}
	}
}

func (h *home) connected() bool { return len(h.served) > 0 || h.polls > 0 }

// serve makes the worker's contents available until ctx ends, and returns why it
// did. A worker that connects again before its old connection is known to be
// broken is asked over the new one.
func (e *Engine) serve(ctx context.Context, org string, worker uuid.UUID, source perdure.ContentSource) error {
	defer e.ServeContents(org, worker, source)()
	<-ctx.Done()
	return context.Cause(ctx)
}

// ServeContents makes the worker's contents available until the function is
// called that it gives.
func (e *Engine) ServeContents(org string, worker uuid.UUID, source perdure.ContentSource) (end func()) {
	key, mine := workerKey{org, worker}, &served{source}
	e.sources.at(key, e.Store.Now(), func(h *home) { h.served = append(h.served, mine) })
	return func() {
		e.sources.at(key, e.Store.Now(), func(h *home) {
			h.served = slices.DeleteFunc(h.served, func(s *served) bool { return s == mine })
		})
	}
}

// polling notes a poll of a worker with a store of its own; the caller calls
// what it gives when the poll is over.
func (e *Engine) polling(org string, p perdure.Poll) (over func()) {
	if !p.Local {
		return func() {}
	}
	key := workerKey{org, p.WorkerID}
	e.sources.at(key, e.Store.Now(), func(h *home) { h.polls++ })
	return func() { e.sources.at(key, e.Store.Now(), func(h *home) { h.polls-- }) }
}

// beating notes a heartbeat, of a worker that is known to keep executions.
func (e *Engine) beating(org string, worker uuid.UUID) {
	e.sources.mu.Lock()
	defer e.sources.mu.Unlock()
	if h := e.sources.all[workerKey{org, worker}]; h != nil {
		h.seen = e.Store.Now()
	}
}

// sourceOf returns the contents of a worker. Errors: unavailable, which says since
// when it is away.
func (e *Engine) sourceOf(org string, worker uuid.UUID) (perdure.ContentSource, error) {
	e.sources.mu.Lock()
	defer e.sources.mu.Unlock()
	h := e.sources.all[workerKey{org, worker}]
	if h == nil || h.seen.IsZero() {
		return nil, perdure.Errorf(perdure.Unavailable, "the content is on worker %s, which is not connected", worker)
	}
	if len(h.served) == 0 {
		return nil, perdure.Errorf(perdure.Unavailable, "the content is on worker %s, which is not connected since %s", worker, h.seen)
	}
	return h.served[len(h.served)-1].source, nil
}

// locate says, on an execution that waits for its home, that it is away.
func (e *Engine) locate(x *perdure.Execution) {
	if x.PersistenceMode != perdure.Local || x.HomeID == nil || x.Status != perdure.StatusPending {
		return
	}
	e.sources.mu.Lock()
	defer e.sources.mu.Unlock()
	away := &perdure.WorkerAway{WorkerID: *x.HomeID}
	if h := e.sources.all[workerKey{x.Org, *x.HomeID}]; h != nil {
		if h.connected() {
			return
		}
		seen := h.seen
		away.Since = &seen
	}
	x.Away = away
}
