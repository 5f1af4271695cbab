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
	// stall is the delay of a round of the loop after which the server does not rely on the age of
	// leases: the server itself may have been stopped, not the workers.
	stall   = 2 * time.Second
	sweep   = 250 * time.Millisecond
	minRest = 5 * time.Millisecond
)

// Run fires timers, ends leases that were not renewed, and ends work that has exceeded its time,
// until ctx ends. A server must run it all the time.
func (e *Engine) Run(ctx context.Context) error {
	hints, unsubscribe := e.Hints.Subscribe(notify.Due)
	defer unsubscribe()
	var beside sync.WaitGroup
	defer beside.Wait()
	beside.Go(func() { e.keepRetention(ctx) })
	quiet := time.Now().Add(e.Lease) // a start counts as an outage
	leases := time.Now()             // when leases are checked next
	last := e.Store.Now()
	for {
		// Leases are measured with the store's clock, which continues while the machine sleeps.
		now := e.Store.Now()
		if now.Sub(last.Time) > stall || e.refusedRenewal.Swap(false) {
			quiet, leases = time.Now().Add(e.Lease), time.Now()
		}
		// Items that became due in the round before are checked once more, because a transaction's
		// clock may be slightly behind this one.
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

// untilLease returns the time until leases must be checked again; first is when the first of them
// ends. A lease that starts or is renewed from now on ends later than that, even if another server
// uses shorter leases.
func (e *Engine) untilLease(first perdure.Time) time.Duration {
	most := e.Lease / 3
	if first.IsZero() {
		return most
	}
	return min(first.Sub(e.Store.Now().Time), most)
}

// until returns the pause of the loop: until the next item is due, and at most until the next
// sweep.
func (e *Engine) until(next perdure.Time) time.Duration {
	if next.IsZero() {
		return sweep
	}
	return max(minRest, min(next.Sub(e.Store.Now().Time), sweep))
}

// decideLooseBlobs deletes uploads that no commit has used.
func decideLooseBlobs(s *store.State) (*store.Changes, error) {
	return &store.Changes{SweepBlobs: true, Answer: &decided{}}, nil
}

// pickedTaskNeeds loads all open blocks, because the picked task is known only when the state is
// loaded.
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

// decideReap ends the claim of a worker that did not renew its lease.
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

// decideAttemptDue ends an attempt that has exceeded its time, or whose code has shown no sign of
// life, if its worker has not ended it within the grace after that. The worker decides first. The
// grace covers a sign of life that no heartbeat has reported yet, and the time that code needs to
// react to its context.
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
	t.ClaimID = uuid.Nil // a late outcome is refused
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
	x.Fence++ // requests of its worker are refused
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
	t.ClaimID = uuid.Nil // a late outcome is refused
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
