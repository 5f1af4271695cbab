package engine

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
)

// keepWorkers records in the store, at intervals until ctx ends, which workers this server has
// seen.
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

// recordWorkers stores which workers this server has seen since the last call of recordWorkers.
func (e *Engine) recordWorkers(ctx context.Context) error {
	for org, workers := range e.workers.Take() {
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

// Workers lists workers of the org, by id, that were seen within perdure.WorkerKept. The result
// `next` is the parameter `after` of the call for the next page. It is uuid.Nil if there is no next
// page.
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

// Queues lists queues of the org, by name. The result `next` is the parameter `after` of the call
// for the next page. It is "" if there is no next page.
func (e *Engine) Queues(ctx context.Context, org, after string, limit int) (all []*perdure.QueueInfo, next string, err error) {
	all, err = e.Store.Queues(ctx, org, e.Store.Now().Add(-perdure.WorkerPresence), after, limit+1)
	if err == nil && len(all) > limit {
		all = all[:limit]
		next = all[limit-1].Name
	}
	return all, next, err
}
