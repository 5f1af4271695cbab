package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// Sweep runs one round of the method Run. Unlike Run, it also ends leases directly after an outage
// of the server. It is for programs that control the clock, such as tests.
func (e *Engine) Sweep(ctx context.Context) error {
	_, _, err := e.round(ctx, round{now: e.Store.Now(), leases: true, reap: true})
	return err
}

// round contains the parameters of one check of everything that depends on time.
type round struct {
	now    perdure.Time
	since  perdure.Time // only a NotBefore after this time becomes due (store.DueQuery.Since)
	leases bool         // check leases
	// reap reports whether to end the leases that had expired at the time now. A lease that expires
	// later in the round, for example in a stall of the server, is not ended.
	reap bool
	// asked is the earliest creation time of questions that may expire: older questions stay open.
	// If it is zero, all questions may expire.
	asked perdure.Time
}

// round handles everything that is due. The result next is the time when the next item is due, and
// lease is the time when the first remaining lease ends. A zero time is unknown.
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
		// An outage of the store does not delay the end of these leases, because the workers were
		// connected after the outage.
		e.endLostLeases(ctx, r.now),
	}
	e.keepers.Sweep(r.now.Add(-e.Lease))
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

// nextOf returns the time at which the next item other than a lease becomes due; zero if there is
// no such item. An item that is due already could not be handled in this round. It does not count,
// because the next regular round handles it. Only a timer that is due already counts.
func (e *Engine) nextOf(due store.Due) perdure.Time {
	next, now := earlier(due.Ready, due.At[store.PickTimers]), e.Store.Now()
	for kind, grace := range map[store.PickKind]time.Duration{
		store.PickCancelOverdue: 0, store.PickTaskDeadlines: 0, store.PickQuestions: 0, store.PickLooseBlobs: 0, store.PickAttempts: e.Lease,
	} {
		if at, any := due.At[kind]; any && at.Add(grace).After(now.Time) {
			next = earlier(next, at.Add(grace))
		}
	}
	return next
}

// earlier returns the earlier of two times; a zero time counts as none.
func earlier(a, b perdure.Time) perdure.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a.Time) {
		return b
	}
	return a
}

// sweepDue handles everything that is due, and reports whether anything was due.
func (e *Engine) sweepDue(ctx context.Context, due store.Due, r round) (did bool, err error) {
	jitter := rand.Float64()
	now, grace := r.now, e.Lease
	sweeps := []struct {
		name   string
		pick   store.Pick
		needs  func(*perdure.Execution) store.Needs
		decide func(*store.State) (*store.Changes, error)
		lease  bool // the sweep ends work whose lease or sign of life is too old
	}{
		{"timers", store.Pick{Kind: store.PickTimers}, nil, rules.FireTimer, false},
		{"cancel overdue", store.Pick{Kind: store.PickCancelOverdue}, rules.EndNeeds, rules.EndOverdueCancel, false},
		{"task deadlines", store.Pick{Kind: store.PickTaskDeadlines}, rules.PickedTaskNeeds, rules.TimeOutTask, false},
		{"questions", store.Pick{Kind: store.PickQuestions, AskedSince: r.asked}, nil, func(s *store.State) (*store.Changes, error) { return rules.ExpireQuestions(s, r.asked) }, false},
		{"loose blobs", store.Pick{Kind: store.PickLooseBlobs}, nil, rules.SweepBlobs, false},
		{
			"attempts",
			store.Pick{Kind: store.PickAttempts, Grace: grace},
			rules.PickedTaskNeeds,
			func(s *store.State) (*store.Changes, error) { return rules.TimeOutAttempt(s, grace, jitter) }, true,
		},
		{
			"reap agents",
			store.Pick{Kind: store.PickExpiredAgents},
			rules.EndNeeds,
			func(s *store.State) (*store.Changes, error) { return rules.Reap(s, now) }, true,
		},
		{
			"reap tasks",
			store.Pick{Kind: store.PickExpiredTasks},
			rules.PickedTaskNeeds,
			func(s *store.State) (*store.Changes, error) { return rules.ReapTask(s, now) }, true,
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

// sweepStep is the maximum number of executions or tasks that one command of a sweep handles.
const sweepStep = 100

// sweep runs the function decide for all executions and tasks that pick selects, in commands of at
// most sweepStep of them, so that other commands can run between them.
func (e *Engine) sweep(ctx context.Context, name string, pick store.Pick, needs func(*perdure.Execution) store.Needs, decide func(*store.State) (*store.Changes, error)) error {
	pick.Limit = sweepStep
	for {
		done, err := e.do(ctx, store.Command{
			Name: name, Lane: store.LaneSweeps, Pick: &pick, Needs: needs, Decide: decide,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(done) < sweepStep {
			return nil
		}
	}
}
