package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// sources are the workers that serve the contents of their LOCAL executions, each with the time of
// its last contact.
type sources struct {
	mu  sync.Mutex // guards all
	all map[workerKey]*home
}

// workerKey identifies a worker by org and id, because the id is unique only within the org.
type workerKey struct {
	org    string
	worker uuid.UUID
}

// home is a worker that keeps LOCAL executions.
type home struct {
	served []*served // its connections, newest last
	polls  int       // number of open polls
	seen   perdure.Time
}

type served struct{ source perdure.ContentSource }

// mostHomes bounds the number of workers in memory. At the bound, a disconnected one is removed for
// each new one.
const mostHomes = 10_000

// at calls change with the home of the key, under the lock. It creates the home at the first
// contact of a worker with this process.
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

// serve offers the worker's contents to readers until ctx ends, and returns the cause. If a worker
// connects again before its old connection is known to be broken, the new connection is used.
func (e *Engine) serve(ctx context.Context, org string, worker uuid.UUID, source perdure.ContentSource) error {
	defer e.ServeContents(org, worker, source)()
	<-ctx.Done()
	return context.Cause(ctx)
}

// ServeContents offers the worker's contents to readers until end is called.
func (e *Engine) ServeContents(org string, worker uuid.UUID, source perdure.ContentSource) (end func()) {
	key, mine := workerKey{org, worker}, &served{source}
	e.sources.at(key, e.Store.Now(), func(h *home) { h.served = append(h.served, mine) })
	return func() {
		e.sources.at(key, e.Store.Now(), func(h *home) {
			h.served = slices.DeleteFunc(h.served, func(s *served) bool { return s == mine })
		})
	}
}

// polling records an open poll of a worker that has its own store. The caller must call over at the
// end of the poll.
func (e *Engine) polling(org string, p perdure.Poll) (over func()) {
	if !p.Local {
		return func() {}
	}
	key := workerKey{org, p.WorkerID}
	e.sources.at(key, e.Store.Now(), func(h *home) { h.polls++ })
	return func() { e.sources.at(key, e.Store.Now(), func(h *home) { h.polls-- }) }
}

// beating records a heartbeat of a worker that is known to keep executions.
func (e *Engine) beating(org string, worker uuid.UUID) {
	e.sources.mu.Lock()
	defer e.sources.mu.Unlock()
	if h := e.sources.all[workerKey{org, worker}]; h != nil {
		h.seen = e.Store.Now()
	}
}

// sourceOf returns the contents of a worker. Error: unavailable, which says since when the worker
// has been away.
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

// locate sets Away on an execution that is PENDING because its home is not connected.
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
