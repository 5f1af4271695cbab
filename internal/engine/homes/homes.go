// Package homes reads the contents of LOCAL executions. Only one worker, the home of the execution,
// stores these contents. When a client reads such a content, the server requests the content from
// the worker and passes it on.
package homes

import (
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Store is the part of a store that Homes use.
type Store interface {
	store.BlobReader
	Now() perdure.Time
}

// executionReader reads executions, as [store.ExecutionReader] does.
type executionReader interface {
	Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error)
}

// Homes records the workers that store contents of LOCAL executions, with the time of each worker's
// last contact with this server. It reads contents from these workers. [New] creates one.
type Homes struct {
	store Store
	refs  executionReader // returns references to contents instead of the contents

	mu  sync.Mutex // guards all
	all map[workerKey]*home
}

// New creates a Homes without workers. The parameter refs reads like s, but returns references to
// contents.
func New(s Store, refs executionReader) *Homes { return &Homes{store: s, refs: refs} }

// workerKey identifies a worker by org and id, because the id is unique only within the org.
type workerKey struct {
	org    string
	worker uuid.UUID
}

// home is a worker that stores the contents of LOCAL executions.
type home struct {
	served []*contentConnection // the worker's connections, newest last
	polls  int                  // number of open polls
	seen   perdure.Time
}

type contentConnection struct{ source perdure.ContentSource }

// mostHomes is the maximum number of workers in Homes. When it is reached, each new worker replaces
// a disconnected one.
const mostHomes = 10_000

// at calls the function `change` with the home of the key, while hs.mu is locked. If hs has no home
// with this key, `at` first creates one.
func (hs *Homes) at(key workerKey, now perdure.Time, change func(*home)) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.all[key]
	if h == nil {
		if hs.all == nil {
			hs.all = map[workerKey]*home{}
		}
		hs.makeRoom()
		h = &home{}
		hs.all[key] = h
	}
	h.seen = now
	change(h)
}

func (hs *Homes) makeRoom() {
	if len(hs.all) < mostHomes {
		return
	}
	for key, h := range hs.all {
		if !h.connected() {
			delete(hs.all, key)
			return
		}
	}
}

func (h *home) connected() bool { return len(h.served) > 0 || h.polls > 0 }

// Serve sets source as the place from which the worker's contents are read, until ctx ends. It
// returns the cause of the end. If a worker has several connections, the newest one is used: the
// server may not know yet that an old one is broken.
func (hs *Homes) Serve(ctx context.Context, org string, worker uuid.UUID, source perdure.ContentSource) error {
	defer hs.ServeContents(org, worker, source)()
	<-ctx.Done()
	return context.Cause(ctx)
}

// ServeContents sets source as the place from which the worker's contents are read, until the caller
// calls the returned function.
func (hs *Homes) ServeContents(org string, worker uuid.UUID, source perdure.ContentSource) (end func()) {
	key, mine := workerKey{org, worker}, &contentConnection{source}
	hs.at(key, hs.store.Now(), func(h *home) { h.served = append(h.served, mine) })
	return func() {
		hs.at(key, hs.store.Now(), func(h *home) {
			h.served = slices.DeleteFunc(h.served, func(s *contentConnection) bool { return s == mine })
		})
	}
}

// Polling records that a worker has an open poll, if the worker can run LOCAL executions (p.Local).
// The caller must call the returned function at the end of the poll.
func (hs *Homes) Polling(org string, p perdure.Poll) (over func()) {
	if !p.Local {
		return func() {}
	}
	key := workerKey{org, p.WorkerID}
	hs.at(key, hs.store.Now(), func(h *home) { h.polls++ })
	return func() { hs.at(key, hs.store.Now(), func(h *home) { h.polls-- }) }
}

// Beating records the time of a heartbeat of a worker, if the worker is in hs.
func (hs *Homes) Beating(org string, worker uuid.UUID) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h := hs.all[workerKey{org, worker}]; h != nil {
		h.seen = hs.store.Now()
	}
}

// Source returns the source of a worker's contents, from its newest connection. Error: unavailable.
// The error's text contains the time of the last contact with the worker, if there was one.
func (hs *Homes) Source(org string, worker uuid.UUID) (perdure.ContentSource, error) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.all[workerKey{org, worker}]
	if h == nil || h.seen.IsZero() {
		return nil, perdure.Errorf(perdure.Unavailable, "the content is on worker %s, which is not connected", worker)
	}
	if len(h.served) == 0 {
		return nil, perdure.Errorf(perdure.Unavailable, "the content is on worker %s, which is not connected since %s", worker, h.seen)
	}
	return h.served[len(h.served)-1].source, nil
}

// Locate sets x.Away if x is a PENDING LOCAL execution whose worker is not connected.
func (hs *Homes) Locate(x *perdure.Execution) {
	if x.PersistenceMode != perdure.Local || x.HomeID == nil || x.Status != perdure.StatusPending {
		return
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	away := &perdure.WorkerAway{WorkerID: *x.HomeID}
	if h := hs.all[workerKey{x.Org, *x.HomeID}]; h != nil {
		if h.connected() {
			return
		}
		seen := h.seen
		away.Since = &seen
	}
	x.Away = away
}
