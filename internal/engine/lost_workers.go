package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// reconnectTimeout is the default of Config.ReconnectTimeout. A live worker reconnects within that time, to this
// server or another, and first renews its leases.
const reconnectTimeout = 500 * time.Millisecond

// workerKey identifies a worker by org and id, because the id is unique only within the org.
type workerKey struct {
	org    string
	worker uuid.UUID
}

// lostWorkers records the workers whose last connection to this server was lost. Each server has
// its own record. If the server stops, the leases of these workers end at their normal time.
type lostWorkers struct {
	mu    sync.Mutex // guards since
	since map[workerKey]perdure.Time
}

// WorkerGone reports that the last connection of a worker to this server was lost. After
// Config.ReconnectTimeout its executions become PENDING, unless the worker has connected again or
// has renewed their leases. Leases of its tasks are kept, because the processes or remote calls
// that the tasks started may continue.
func (e *Engine) WorkerGone(org string, worker uuid.UUID) {
	e.lost.mu.Lock()
	defer e.lost.mu.Unlock()
	if e.lost.since == nil {
		e.lost.since = map[workerKey]perdure.Time{}
	}
	e.lost.since[workerKey{org, worker}] = e.Store.Now()
}

// back removes a worker that has connected again.
func (b *lostWorkers) back(org string, worker uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.since, workerKey{org, worker})
}

// due removes and returns the workers whose connection was lost at least the duration after ago.
func (b *lostWorkers) due(after time.Duration, now perdure.Time) map[workerKey]perdure.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	due := map[workerKey]perdure.Time{}
	for key, since := range b.since {
		if since.Add(after).Reached(now) {
			due[key] = since
			delete(b.since, key)
		}
	}
	return due
}

// endLostLeases ends the leases of lost workers' executions, unless a lease was renewed after the
// connection was lost.
func (e *Engine) endLostLeases(ctx context.Context, now perdure.Time) error {
	for key, since := range e.lost.due(e.ReconnectTimeout, now) {
		held, err := e.Store.HeldBy(ctx, key.org, key.worker)
		if err != nil {
			return fmt.Errorf("what worker %s held: %w", key.worker, err)
		}
		for _, id := range held {
			_, err := e.do(ctx, store.Command{
				Name: "take from gone", Lane: store.LaneSweeps, Org: key.org, Execution: id, Needs: rules.EndNeeds,
				Decide: func(s *store.State) (*store.Changes, error) { return rules.LoseWorker(s, e.rules(), key.worker, since) },
			})
			if err != nil {
				return fmt.Errorf("take from worker %s: %w", key.worker, err)
			}
		}
	}
	return nil
}
