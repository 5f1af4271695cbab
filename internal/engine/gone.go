package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// goneAfter is the default of Config.GoneAfter. A live worker connects again in that time, to this
// server or another, and renews its leases first.
const goneAfter = 500 * time.Millisecond

// goneBoard records the workers whose last connection to this server was lost. It is in the memory
// of one server; if it is lost, the leases of these workers end by themselves.
type goneBoard struct {
	mu    sync.Mutex // guards since
	since map[workerKey]perdure.Time
}

// WorkerGone reports that the last connection of a worker to this server was lost. Its executions
// become claimable after Config.GoneAfter, unless the worker renews their leases. Its tasks keep
// their leases, because their work outside may continue.
func (e *Engine) WorkerGone(org string, worker uuid.UUID) {
	e.gone.mu.Lock()
	defer e.gone.mu.Unlock()
	if e.gone.since == nil {
		e.gone.since = map[workerKey]perdure.Time{}
	}
	e.gone.since[workerKey{org, worker}] = e.Store.Now()
}

// back removes a worker that has connected again.
func (b *goneBoard) back(org string, worker uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.since, workerKey{org, worker})
}

// due removes and returns the workers whose connection was lost at least that long ago.
func (b *goneBoard) due(after time.Duration, now perdure.Time) map[workerKey]perdure.Time {
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

// takeFromGone ends the leases of executions that lost workers have not renewed since.
func (e *Engine) takeFromGone(ctx context.Context, now perdure.Time) error {
	for key, since := range e.gone.due(e.GoneAfter, now) {
		held, err := e.Store.HeldBy(ctx, key.org, key.worker)
		if err != nil {
			return fmt.Errorf("what worker %s held: %w", key.worker, err)
		}
		for _, id := range held {
			_, err := e.do(ctx, store.Command{
				Name: "take from gone", Lane: store.LaneSweeps, Org: key.org, Execution: id, Needs: endNeeds,
				Decide: func(s *store.State) (*store.Changes, error) { return e.decideGone(s, key.worker, since) },
			})
			if err != nil {
				return fmt.Errorf("take from worker %s: %w", key.worker, err)
			}
		}
	}
	return nil
}

// decideGone ends a lease of a lost worker before its time. It counts as a crash, like a lease that
// has run out.
func (e *Engine) decideGone(s *store.State, worker uuid.UUID, since perdure.Time) (*store.Changes, error) {
	x := s.Execution
	if x == nil || !x.Status.Held() || x.WorkerID == nil || *x.WorkerID != worker || !x.LeaseUntil.Before(since.Add(e.Lease).Time) {
		return nil, nil
	}
	d := begin(s)
	return d.crashed(fmt.Sprintf("its workers were lost again and again, at last worker %s, whose connection broke at %s", worker, since))
}
