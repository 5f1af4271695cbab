package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// reconnectTimeout is the default of Config.ReconnectTimeout. A live worker reconnects within that
// time, to this server or another, and then sends a heartbeat, which renews its leases.
const reconnectTimeout = 500 * time.Millisecond

// WorkerGone reports that the last connection of a worker to this server was lost. After
// Config.ReconnectTimeout, the executions of the worker become PENDING, unless the worker has
// connected again or has renewed their leases. Leases of the worker's tasks are kept, because the
// processes or remote calls that the tasks started may continue.
func (e *Engine) WorkerGone(org string, worker uuid.UUID) {
	e.lost.Gone(org, worker, e.Store.Now())
}

// endLostLeases ends the leases of the executions of lost workers, unless a lease was renewed after
// the worker's connection was lost.
func (e *Engine) endLostLeases(ctx context.Context, now perdure.Time) error {
	for worker, since := range e.lost.Due(e.ReconnectTimeout, now) {
		held, err := e.Store.HeldBy(ctx, worker.Org, worker.ID)
		if err != nil {
			return fmt.Errorf("what worker %s held: %w", worker.ID, err)
		}
		for _, id := range held {
			_, err := e.do(ctx, store.Command{
				Name: "take from gone", Lane: store.LaneSweeps, Org: worker.Org, Execution: id, Needs: rules.EndNeeds,
				Decide: func(s *store.State) (*store.Changes, error) { return rules.LoseWorker(s, e.rules(), worker.ID, since) },
			})
			if err != nil {
				return fmt.Errorf("take from worker %s: %w", worker.ID, err)
			}
		}
	}
	return nil
}
