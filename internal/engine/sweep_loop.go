package engine

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/rules"
)

const (
	// stall is the maximum normal delay of a round of sweeps. After a longer delay, the server or
	// its machine may have been stopped, so that workers could not renew their leases. Therefore
	// the loop ends no leases for the duration of a lease after such a delay.
	stall   = 2 * time.Second
	sweep   = 250 * time.Millisecond
	minRest = 5 * time.Millisecond
	// outage is the delay of a round of sweeps from which on the server assumes an outage: people
	// could not answer questions during the delay.
	outage = time.Minute
)

// Run fires timers, ends leases that were not renewed, and ends work that has exceeded its time,
// until ctx ends. Every server must run it.
func (e *Engine) Run(ctx context.Context) error {
	hints, unsubscribe := e.Hints.Subscribe(notify.Due)
	defer unsubscribe()
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { e.Pruner.Keep(ctx) })
	beside.Go(func() { e.keepWorkers(ctx) })
	beside.Go(func() { e.keepPauses(ctx) })
	beside.Go(func() { e.Bulk.Keep(ctx) })
	quiet := time.Now().Add(e.Lease) // after a start, workers need time to renew their leases
	leases := time.Now()             // the time of the next check of leases
	last := e.Store.Now()
	back := e.opened // when the server was last able to take answers again
	for {
		// Leases are measured with the store's clock, which continues while the machine sleeps.
		now := e.Store.Now()
		if now.Sub(last.Time) > outage {
			back = now
		}
		if now.Sub(last.Time) > stall || e.refusedRenewal.Swap(false) {
			quiet, leases = time.Now().Add(e.Lease), time.Now()
		}
		// A transaction's clock may be slightly behind the clock of the loop. So an item can become
		// due in a time that the previous round has already checked, and this round checks that
		// time again.
		r := round{now: now, since: last.Add(-sweep), leases: !time.Now().Before(leases), reap: time.Now().After(quiet), asked: expiring(back, now)}
		next, lease, err := e.round(ctx, r)
		if err != nil && ctx.Err() == nil {
			e.Logger.Error("sweep failed", "error", err)
		}
		if r.leases && err == nil {
			leases = time.Now().Add(e.untilLease(lease))
		}
		last = now
		select {
		case <-ctx.Done():
			return nil
		case <-hints:
		case <-time.After(e.until(next)):
		}
	}
}

// expiring returns the creation time from which on questions may expire now; older questions stay
// open. The parameter `back` is the time at which the server began to take answers again: its
// start, or the end of its last outage. Until rules.ExpiryGrace after `back`, the result is `back`.
// Then it is zero, so that all questions may expire.
func expiring(back, now perdure.Time) perdure.Time {
	if now.Sub(back.Time) < rules.ExpiryGrace {
		return back
	}
	return perdure.Time{}
}

// untilLease returns the time until leases must be checked again. The parameter `first` is the time
// when the first lease ends. The result is at most a third of a lease, because leases that begin
// before the check may end earlier than `first` if another server uses shorter leases.
func (e *Engine) untilLease(first perdure.Time) time.Duration {
	most := e.Lease / 3
	if first.IsZero() {
		return most
	}
	return min(first.Sub(e.Store.Now().Time), most)
}

// until returns the pause of the sweep loop before the next item is due, which is at the time
// `next`. The pause is at least the constant minRest and at most the constant `sweep`.
func (e *Engine) until(next perdure.Time) time.Duration {
	if next.IsZero() {
		return sweep
	}
	return max(minRest, min(next.Sub(e.Store.Now().Time), sweep))
}
