package rules

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// SweepBlobs deletes expired uploads to which no commit refers.
func SweepBlobs(*store.State) (*store.Changes, error) {
	return &store.Changes{SweepBlobs: true, Answer: &Decision{}}, nil
}

// PickedTaskNeeds says which rows the engine must read into the store.State for a command about a
// task that the store selects. These rows include all open blocks of the execution, because the
// store selects the task only while it reads the rows.
func PickedTaskNeeds(*perdure.Execution) store.Needs {
	return store.Needs{OpenBlocks: true, AttemptBlocks: true}
}

// FireTimer wakes an execution if its timer is due and meets its wait. If the timer meets only some
// conditions of the wait, FireTimer sets the next timer.
func FireTimer(s *store.State) (*store.Changes, error) {
	if s.Execution == nil || s.Execution.Status != perdure.StatusWaiting {
		return nil, nil
	}
	d := begin(s)
	if d.wake(facts{}, perdure.WakeTimer) {
		return d.done(nil), nil
	}
	due, ok := d.x.Wait.NextTimer()
	if !ok {
		due = perdure.Time{}
	}
	d.c.Timer = &due
	return d.done(nil), nil
}

// Reap ends the claim of an execution whose worker did not renew its lease in time.
func Reap(s *store.State, now perdure.Time) (*store.Changes, error) {
	x := s.Execution
	if x == nil || !x.Status.Held() || !x.LeaseUntil.Reached(now) {
		return nil, nil
	}
	d := begin(s)
	d.lostLease(WorkExecution, x.Queue)
	return d.crashed(fmt.Sprintf("its workers were lost again and again, at last worker %s, silent since before %s", x.WorkerID, x.LeaseUntil))
}

// ReapTask ends the attempt of a task whose worker did not renew its lease in time.
func ReapTask(s *store.State, now perdure.Time) (*store.Changes, error) {
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

// TimeOutAttempt ends an attempt that has exceeded its time, or whose code has shown no sign of
// life for too long. It does so only when the duration `grace` has passed after the limit, so that
// the worker can end the attempt itself, or report a sign of life with its next heartbeat.
func TimeOutAttempt(s *store.State, grace time.Duration, jitter float64) (*store.Changes, error) {
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
	d.tellTaskHolder(t)
	t.ClaimID = uuid.Nil // the worker cannot report an outcome later
	failure := &perdure.TaskError{Code: "timeout", Message: "the attempt went on for too long, or too long without a sign from its code"}
	if err := d.failAttempt(t, failure, jitter); err != nil {
		return nil, err
	}
	if t.Status.Terminal() {
		d.wake(facts{tasks: map[uuid.UUID]perdure.TaskStatus{t.ID: t.Status}}, perdure.WakeTask)
	}
	return d.done(nil), nil
}

// EndOverdueCancel ends a CANCELLING execution whose worker has not ended it within CancelGrace.
func EndOverdueCancel(s *store.State) (*store.Changes, error) {
	x := s.Execution
	if x == nil || x.Status != perdure.StatusCancelling || !x.CancelBy.Reached(s.Now) {
		return nil, nil
	}
	d := begin(s)
	d.tellHolder()
	x.Fence++ // later requests of its worker are refused
	if err := d.end(ending{status: perdure.StatusCancelled}); err != nil {
		return nil, err
	}
	return d.done(nil), nil
}

// TimeOutTask fails the task in the field PickedTask of the state, if it has exceeded its
// schedule-to-close time.
func TimeOutTask(s *store.State) (*store.Changes, error) {
	if s.PickedTask == nil {
		return nil, nil
	}
	t := s.Tasks[*s.PickedTask]
	if t == nil || t.Status.Terminal() || t.Options.ScheduleToClose == 0 ||
		!t.CreatedAt.Add(t.Options.ScheduleToClose).Reached(s.Now) {
		return nil, nil
	}
	d := begin(s)
	d.tellTaskHolder(t)
	t.ClaimID = uuid.Nil // the worker cannot report an outcome later
	t.Error = &perdure.TaskError{
		Code: "timeout", Permanent: true,
		Message: fmt.Sprintf("it did not end within %s of being scheduled", t.Options.ScheduleToClose),
	}
	if err := d.endTask(t, perdure.TaskFailed, perdure.EventTaskFailed, perdure.BlockSuperseded); err != nil {
		return nil, err
	}
	d.wake(facts{tasks: map[uuid.UUID]perdure.TaskStatus{t.ID: t.Status}}, perdure.WakeTask)
	return d.done(nil), nil
}

// LoseWorker ends the claim of an execution whose worker was lost at the time `since`. It does
// nothing if the worker has renewed the lease after that time. The end counts as a crash, like the
// end of a lease that was not renewed.
func LoseWorker(s *store.State, cfg Config, worker uuid.UUID, since perdure.Time) (*store.Changes, error) {
	x := s.Execution
	if x == nil || !x.Status.Held() || x.WorkerID == nil || *x.WorkerID != worker || !x.LeaseUntil.Before(since.Add(cfg.Lease).Time) {
		return nil, nil
	}
	d := begin(s)
	return d.crashed(fmt.Sprintf("its workers were lost again and again, at last worker %s, whose connection broke at %s", worker, since))
}
