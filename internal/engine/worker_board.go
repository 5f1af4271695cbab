package engine

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
)

// maxSeenWorkers bounds the workers that a server remembers until it records them.
const maxSeenWorkers = 100_000

// workerBoard remembers which workers this server has seen since it last recorded them.
type workerBoard struct {
	mu    sync.Mutex // guards the fields below
	seen  map[workerOf]bool
	polls map[workerOf]int // open polls
}

type workerOf struct {
	org string
	id  uuid.UUID
}

// saw notes that a worker has called.
func (b *workerBoard) saw(org string, worker uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note(workerOf{org, worker})
}

func (b *workerBoard) note(w workerOf) {
	if b.seen == nil {
		b.seen = map[workerOf]bool{}
	}
	if len(b.seen) < maxSeenWorkers && w.id != uuid.Nil {
		b.seen[w] = true
	}
}

// polling notes that a poll of a worker is open until the caller calls over.
func (b *workerBoard) polling(org string, worker uuid.UUID) (over func()) {
	w := workerOf{org, worker}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.polls == nil {
		b.polls = map[workerOf]int{}
	}
	b.polls[w]++
	b.note(w)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.note(w)
		if b.polls[w]--; b.polls[w] == 0 {
			delete(b.polls, w)
		}
	}
}

// take returns the workers that were seen since the last call, by org.
func (b *workerBoard) take() map[string][]uuid.UUID {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.polls {
		b.note(w)
	}
	byOrg := map[string][]uuid.UUID{}
	for w := range b.seen {
		byOrg[w.org] = append(byOrg[w.org], w.id)
	}
	b.seen = nil
	return byOrg
}

// keepWorkers records the workers that the server has seen, until ctx ends.
func (e *Engine) keepWorkers(ctx context.Context) {
	every := time.NewTicker(perdure.WorkerSeenEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			if err := e.recordWorkers(ctx); err != nil && ctx.Err() == nil {
				e.Logger.Warn("the workers that were seen could not be recorded", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// seenStep is the maximum number of workers that one command records.
const seenStep = 500

// recordWorkers records the workers that were seen since the last call.
func (e *Engine) recordWorkers(ctx context.Context) error {
	for org, workers := range e.workers.take() {
		slices.SortFunc(workers, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
		for some := range slices.Chunk(workers, seenStep) {
			_, err := e.one(ctx, store.Command{
				Name: "see workers", Lane: store.LaneSweeps, Frees: true, Org: org,
				Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Workers: true} },
				Decide: func(s *store.State) (*store.Changes, error) { return tenant.SeeWorkers(s, some) },
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Workers lists workers of the org that were seen within perdure.WorkerKept, by id. next is the id
// after which the next page begins; uuid.Nil at the end.
func (e *Engine) Workers(ctx context.Context, org string, after uuid.UUID, limit int) (all []*perdure.WorkerInfo, next uuid.UUID, err error) {
	now := e.Store.Now()
	all, err = e.Store.Workers(ctx, org, now.Add(-perdure.WorkerKept), after, limit+1)
	if err == nil && len(all) > limit {
		all = all[:limit]
		next = all[limit-1].ID
	}
	for _, w := range all {
		w.Connected = now.Sub(w.LastSeenAt.Time) < perdure.WorkerPresence
		if w.Holds == nil {
			w.Holds = []perdure.WorkerHold{}
		}
	}
	return all, next, err
}

// Queues lists queues of the org, by name. next is the name after which the next page begins; "" at
// the end.
func (e *Engine) Queues(ctx context.Context, org, after string, limit int) (all []*perdure.QueueInfo, next string, err error) {
	all, err = e.Store.Queues(ctx, org, e.Store.Now().Add(-perdure.WorkerPresence), after, limit+1)
	if err == nil && len(all) > limit {
		all = all[:limit]
		next = all[limit-1].Name
	}
	return all, next, err
}
