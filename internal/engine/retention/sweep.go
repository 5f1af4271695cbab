package retention

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/store"
)

// Sweep deletes, in all orgs, the data whose retention has ended. It also deletes the rows of
// executions and streams that are already marked for deletion.
func (p *Pruner) Sweep(ctx context.Context) error {
	orgs, err := p.Store.Orgs(ctx)
	if err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	var errs []error
	pruned := int64(0)
	for _, org := range orgs {
		for _, kind := range pruneKinds {
			n, err := p.sweepKind(ctx, store.PruneQuery{Kind: kind, Org: org, Limit: prunePage})
			pruned += n
			errs = append(errs, err)
		}
	}
	errs = append(errs, p.dropMarked(ctx))
	spare := int64(spareBytes)
	if pruned > 0 {
		spare = 0
	}
	return errors.Join(append(errs, p.free(ctx, spare))...)
}

// sweepKind prunes all pages of a query, and returns the number of pruned items.
func (p *Pruner) sweepKind(ctx context.Context, q store.PruneQuery) (int64, error) {
	var count PruneCount
	for {
		before := count.Count
		more, err := p.pruneKind(ctx, q, false, &count)
		if err != nil || !more || count.Count == before {
			return count.Count, err
		}
		if err := p.dropMarked(ctx); err != nil {
			return count.Count, err
		}
	}
}

// Keep sweeps at intervals of Config.Every until ctx ends. Keep runs in a goroutine of its own,
// because the loop that fires timers must not wait for a sweep.
func (p *Pruner) Keep(ctx context.Context) {
	timer := time.NewTicker(p.Every)
	defer timer.Stop()
	for {
		if err := p.Sweep(ctx); err != nil && ctx.Err() == nil {
			p.Logger.Error("retention sweep failed", "error", err)
		}
		if err := p.Tenants.SweepDeliveries(ctx); err != nil && ctx.Err() == nil {
			p.Logger.Error("sweeping deliveries failed", "error", err)
		}
		if err := p.SweepLinks(ctx); err != nil && ctx.Err() == nil {
			p.Logger.Error("links that have expired could not be removed", "error", err)
		}
		if err := p.Tenants.SweepSessions(ctx); err != nil && ctx.Err() == nil {
			p.Logger.Error("sessions that have expired could not be removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}
