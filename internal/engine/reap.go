package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

const (
	// stall is how late a round of the loop may be before the server trusts no
	// lease's age: then it was the server that was away, not the workers.
	stall   = 2 * time.Second
	sweep   = 250 * time.Millisecond
	minRest = 5 * time.Millisecond
)

// Run fires timers, takes back leases that are over, and ends what has run out
// of time, until ctx ends. A server runs it for as long as it serves.
func (e *Engine) Run(ctx context.Context) error {
	hints, unsubscribe := e.Hints.Subscribe(notify.Due)
	defer unsubscribe()
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { e.keepRetention(ctx) })
	quiet := time.Now().Add(e.Lease) // a start counts as an outage
	leases := time.Now()             // when they are looked at next
	last := e.Store.Now()
	for {
		// The store's clock runs on while the machine sleeps, and it is what
		// leases are measured by.
		now := e.Store.Now()
		if now.Sub(last.Time) > stall || e.refusedRenewal.Swap(false) {
			quiet, leases = time.Now().Add(e.Lease), time.Now()
		}
		// What came due in the round before is rechecked once more: a transaction's
		// clock may be a little behind this one.
		r := round{now: now, since: last.Add(-sweep), leases: !time.Now().Before(leases), reap: time.Now().After(quiet)}
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

// untilLease is how long the leases may be left alone, by when the first of them is
// over. One that is given or renewed from now on lasts longer than that, also if the
// server that gives it has shorter ones than this.
func (e *Engine) untilLease(first perdure.Time) time.Duration {
	most := e.Lease / 3
	if first.IsZero() {
		return most
	}
	return min(first.Sub(e.Store.Now().Time), most)
}

// until is how long the loop may rest: until the next thing is due, and at most
// until the next sweep for leases.
func (e *Engine) until(next perdure.Time) time.Duration {
	if next.IsZero() {
		return sweep
	}
	return max(minRest, min(next.Sub(e.Store.Now().Time), sweep))
}

// decideLooseBlobs drops what was uploaded for a commit that never came.
func decideLooseBlobs(s *store.State) (*store.Changes, error) {
	return &store.Changes{SweepBlobs: true, Answer: &decided{}}, nil
}

// pickedTaskNeeds loads all open blocks: which task was picked is known only
// when the state is there.
func pickedTaskNeeds(*perdure.Execution) store.Needs {
	return store.Needs{OpenBlocks: true, AttemptBlocks: true}
}

func decideTimer(s *store.State) (*store.Changes, error) {
	if s.Execution == nil || s.Execution.Status != perdure.StatusWaiting {
		return nil, nil
	}
	d := begin(s)
	if d.wake(facts{}, perdure.WokeTimer) {
		return d.done(nil), nil
	}
	due, ok := d.x.Wait.NextTimer()
	if !ok {
		due = perdure.Time{}
	}
	d.c.Timer = &due
	return d.done(nil), nil
}

// decideReap takes an execution back whose worker let its lease run out.
func decideReap(s *store.State, now perdure.Time) (*store.Changes, error) {
	x := s.Execution
	if x == nil || !x.Status.Held() || !x.LeaseUntil.Reached(now) {
		return nil, nil
	}
	d := begin(s)
	d.lostLease(WorkExecution, x.Queue)
	return d.crashed(fmt.Sprintf("its workers were lost again and again, at last worker %s, silent since before %s", x.WorkerID, x.LeaseUntil))
}

func decideReapTask(s *store.State, now perdure.Time) (*store.Changes, error) {
	if s.PickedTask == nil {
		return nil, nil
	}
	t := s.Tasks[*s.PickedTask]
	if t == nil || t.Status != perdure.TaskRunning || !t.LeaseUntil.Reached(now) {
		return nil, nil
	}
	d := begin(s)
	d.lostLease(WorkTask, t.Queue)
	if err := d.loseAttempt(t, "the worker that ran it was lost"); err != nil {
		return nil, err
	}
	return d.done(nil), nil
}

// decideAttemptDue ends an attempt that its worker should have ended a lease
// ago, for taking too long or for its code's silence. The worker decides first;
// the grace covers what a heartbeat has not brought yet, and the time that code
// takes to heed its context.
func decideAttemptDue(s *store.State, grace time.Duration, jitter float64) (*store.Changes, error) {
	if s.PickedTask == nil {
		return nil, nil
	}
	t := s.Tasks[*s.PickedTask]
	if t == nil {
		return nil, nil
	}
	due, bounded := t.AttemptDue()
	if !bounded || !due.Add(grace).Reached(s.Now) {
		return nil, nil
	}
	d := begin(s)
	t.ClaimID = uuid.Nil // an outcome that still comes is refused
	failure := &perdure.TaskError{Code: "timeout", Message: "the attempt went on for too long, or too long without a sign from its code"}
	if err := d.failAttempt(t, failure, jitter); err != nil {
		return nil, err
	}
	if t.Status.Terminal() {
		d.wake(facts{tasks: map[uuid.UUID]perdure.TaskStatus{t.ID: t.Status}}, perdure.WokeTask)
	}
	return d.done(nil), nil
}

func decideCancelOverdue(s *store.State) (*store.Changes, error) {
	x := s.Execution
	if x == nil || x.Status != perdure.StatusCancelling || !x.CancelBy.Reached(s.Now) {
		return nil, nil
	}
	d := begin(s)
	x.Fence++ // whatever its worker still sends is refused
	if err := d.end(ending{status: perdure.StatusCancelled}); err != nil {
		return nil, err
	}
	return d.done(nil), nil
}

func decideDeadline(s *store.State) (*store.Changes, error) {
	if s.PickedTask == nil {
		return nil, nil
	}
	t := s.Tasks[*s.PickedTask]
	if t == nil || t.Status.Terminal() || t.Options.ScheduleToClose == 0 ||
		!t.CreatedAt.Add(t.Options.ScheduleToClose).Reached(s.Now) {
		return nil, nil
	}
	d := begin(s)
	t.ClaimID = uuid.Nil // an outcome that still comes is refused
	t.Error = &perdure.TaskError{
		Code: "timeout", Permanent: true,
		Message: fmt.Sprintf("it did not end within %s of being scheduled", t.Options.ScheduleToClose),
	}
	if err := d.endTask(t, perdure.TaskFailed, perdure.EventTaskFailed, perdure.BlockSuperseded); err != nil {
		return nil, err
	}
	d.wake(facts{tasks: map[uuid.UUID]perdure.TaskStatus{t.ID: t.Status}}, perdure.WokeTask)
	return d.done(nil), nil
}
