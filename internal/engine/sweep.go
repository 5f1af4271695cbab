package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// Sweep does once what Run does again and again, and trusts the age of every
// lease. It is for a program that decides itself when time has passed.
func (e *Engine) Sweep(ctx context.Context) error {
	_, _, err := e.round(ctx, round{now: e.Store.Now(), leases: true, reap: true})
	return err
}

// round is one look at what time has brought.
type round struct {
	now    perdure.Time
	since  perdure.Time // what was put off until later than this is rechecked
	leases bool         // look at leases
	// reap takes back leases that were over at now: a stall in the middle of the
	// round ends none.
	reap bool
}

// round does what is due. It returns when there is more to do, and when the first
// lease is over that is left; zero if nobody knows.
func (e *Engine) round(ctx context.Context, r round) (next, lease perdure.Time, err error) {
	due, err := e.Store.Due(ctx, store.DueQuery{Since: r.since, Leases: r.leases})
	if err != nil {
		if r.reap {
			e.noteRefusal(err)
		}
		return next, lease, fmt.Errorf("what is due: %w", err)
	}
	did, err := e.sweepDue(ctx, due, r)
	errs := []error{
		err,
		e.Store.Tidy(ctx),
		// Not held up after an outage: these workers had been connected since.
		e.takeFromGone(ctx, r.now),
	}
	e.parked.sweep(r.now.Add(-e.Lease))
	came := !due.Ready.IsZero() && due.Ready.Reached(e.Store.Now())
	if came {
		e.Hints.Publish(notify.Recheck)
	}
	if came || did {
		due, err = e.Store.Due(ctx, store.DueQuery{Since: e.Store.Now(), Leases: r.leases})
		errs = append(errs, err)
	}
	lease = earlier(due.At[store.PickExpiredAgents], due.At[store.PickExpiredTasks])
	return e.nextOf(due), lease, errors.Join(errs...)
}

// nextOf is when there is more to do than to look at leases; zero if nothing comes.
// What could not be done although it was due waits for the next sweep; a timer
// does not.
func (e *Engine) nextOf(due store.Due) perdure.Time {
	next, now := earlier(due.Ready, due.At[store.PickTimers]), e.Store.Now()
	for kind, grace := range map[store.PickKind]time.Duration{
		store.PickCancelOverdue: 0, store.PickTaskDeadlines: 0, store.PickLooseBlobs: 0, store.PickAttempts: e.Lease,
	} {
		if at, any := due.At[kind]; any && at.Add(grace).After(now.Time) {
			next = earlier(next, at.Add(grace))
		}
	}
	return next
}

// earlier returns the earlier of two moments, of which each may be none.
func earlier(a, b perdure.Time) perdure.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a.Time) {
		return b
	}
	return a
}

// sweepDue does what has come due, and reports whether there was anything.
func (e *Engine) sweepDue(ctx context.Context, due store.Due, r round) (did bool, err error) {
	jitter := rand.Float64()
	now, grace := r.now, e.Lease
	sweeps := []struct {
		name   string
		pick   store.Pick
		needs  func(*perdure.Execution) store.Needs
		decide func(*store.State) (*store.Changes, error)
		lease  bool // it goes by the age of leases
	}{
		{"timers", store.Pick{Kind: store.PickTimers}, nil, decideTimer, false},
		{"cancel overdue", store.Pick{Kind: store.PickCancelOverdue}, endNeeds, decideCancelOverdue, false},
		{"task deadlines", store.Pick{Kind: store.PickTaskDeadlines}, pickedTaskNeeds, decideDeadline, false},
		{"loose blobs", store.Pick{Kind: store.PickLooseBlobs}, nil, decideLooseBlobs, false},
		{
			"attempts",
			store.Pick{Kind: store.PickAttempts, Grace: grace},
			pickedTaskNeeds,
			func(s *store.State) (*store.Changes, error) { return decideAttemptDue(s, grace, jitter) }, true,
		},
		{
			"reap agents",
			store.Pick{Kind: store.PickExpiredAgents},
			endNeeds,
			func(s *store.State) (*store.Changes, error) { return decideReap(s, now) }, true,
		},
		{
			"reap tasks",
			store.Pick{Kind: store.PickExpiredTasks},
			pickedTaskNeeds,
			func(s *store.State) (*store.Changes, error) { return decideReapTask(s, now) }, true,
		},
	}
	var errs []error
	for _, s := range sweeps {
		at, any := due.At[s.pick.Kind]
		if s.lease && !r.reap || !any || !at.Add(s.pick.Grace).Reached(e.Store.Now()) {
			continue
		}
		did = true
		err := e.sweep(ctx, s.name, s.pick, s.needs, s.decide)
		if s.lease {
			e.noteRefusal(err)
		}
		errs = append(errs, err)
	}
	return did, errors.Join(errs...)
}

// sweepStep is how many candidates one command of a sweep takes.
const sweepStep = 100

// sweep decides about all candidates of a pick, some at a time, so that other
// commands come in between.
func (e *Engine) sweep(ctx context.Context, name string, pick store.Pick, needs func(*perdure.Execution) store.Needs, decide func(*store.State) (*store.Changes, error)) error {
	pick.Limit = sweepStep
	for {
		decided, err := e.do(ctx, store.Command{
			Name: name, Lane: store.LaneSweeps, Pick: &pick, Needs: needs, Decide: decide,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(decided) < sweepStep {
			return nil
		}
	}
}
