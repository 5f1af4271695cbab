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

// Sweep runs one round of Run, for programs that control the clock, such as tests. Unlike Run, it
// ends expired leases even directly after an outage of the server.
func (e *Engine) Sweep(ctx context.Context) error {
	_, _, err := e.round(ctx, round{now: e.Store.Now(), leases: true, reap: true})
	return err
}

// round contains the parameters of one round of the sweep loop, which handles everything that is
// due.
type round struct {
	now    perdure.Time
	since  perdure.Time // only a NotBefore after this time becomes due (store.DueQuery.Since)
	leases bool         // check leases
	// reap reports whether the round ends the leases that expired before the time `now`. A lease
	// that expires during the round is not ended in this round: the server may have been stopped in
	// between, so that the worker could not renew the lease.
	reap bool
	// asked is a time. Questions that were asked earlier do not expire in this round. If asked is
	// zero, all questions may expire.
	asked perdure.Time
}

// round handles everything that is due. It returns two times: `next`, when the next item is due,
// and `lease`, when the first remaining lease ends. A time is zero if there is no such item or
// lease; `lease` is also zero if r.leases is false.
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
		// After an outage of the store, expired leases do not end at once, because their workers could
		// not renew them. endLostLeases does not wait: its workers have connected to this server after
		// the outage, and have lost the connection since.
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
// no such item. nextOf ignores most items that are already due: this round could not handle them,
// and the next regular round tries again. Only a timer or ready work (Due.Ready) counts even if it
// is already due.
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

// sweepStep is the maximum number of executions or tasks that one command of the sweep loop
// handles.
const sweepStep = 100

// sweep runs the function `decide` for each execution or task that the parameter `pick` selects.
// One command handles at most sweepStep of them, so that other commands can run in between.
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
