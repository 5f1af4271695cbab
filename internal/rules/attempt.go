package rules

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// endAttempt sets the new state of a task after its worker has reported the end of an attempt: the
// task has ended, or waits for its next attempt.
func (d *draft) endAttempt(t *perdure.Task, f perdure.TaskFinish, jitter float64) error {
	if f.Error == nil {
		if err := d.useContent(f.Result.Blob, uuid.Nil); err != nil {
			return err
		}
		t.Result, t.ResultBlob, t.Error = f.Result.Bytes, f.Result.Blob, nil
		return d.endTask(t, perdure.TaskCompleted, perdure.EventTaskCompleted, perdure.BlockDone)
	}
	return d.failAttempt(t, f.Error, jitter)
}

// failAttempt schedules the next attempt of the task after a pause, or sets the task to FAILED if
// no attempt is left.
func (d *draft) failAttempt(t *perdure.Task, failure *perdure.TaskError, jitter float64) error {
	t.Error = d.quiet(failure)
	pause := t.Options.Backoff(t.Tries())
	pause = max(pause/2+time.Duration(jitter*float64(pause)/2), failure.RetryAfter)
	if d.mayRetry(t, pause) {
		return d.retry(t, pause, "error")
	}
	return d.endTask(t, perdure.TaskFailed, perdure.EventTaskFailed, perdure.BlockSuperseded)
}

func (d *draft) mayRetry(t *perdure.Task, pause time.Duration) bool {
	if t.Error.Permanent || t.Tries() >= t.Options.MaxAttempts {
		return false
	}
	whole := t.Options.ScheduleToClose
	return whole == 0 || d.s.Now.Add(pause).Before(t.CreatedAt.Add(whole).Time)
}

// retry makes the task claimable again after the pause, and marks the blocks of its attempt as
// superseded. If the execution is being cancelled, retry cancels the task instead.
func (d *draft) retry(t *perdure.Task, pause time.Duration, why string) error {
	if d.x.Status == perdure.StatusCancelling {
		d.cancelTask(t, notBegun)
		d.compactionEnded(t, perdure.StatusCancelled)
		return d.closeBlocksOf(t, perdure.BlockSuperseded)
	}
	d.free(t)
	t.Status, t.WorkerID, t.LeaseUntil = perdure.TaskPending, nil, perdure.Time{}
	t.NotBefore = d.s.Now.Add(pause)
	d.takeBack(t, false)
	if err := d.closeBlocksOf(t, perdure.BlockSuperseded); err != nil {
		return err
	}
	d.task(t)
	members := map[string]any{"reason": why, "notBefore": t.NotBefore}
	if t.Error != nil {
		members["error"], members["code"] = t.Error.Message, t.Error.Code
	}
	d.taskEvent(perdure.EventTaskRetrying, t, members)
	if pause == 0 {
		d.hint(Hint{Kind: HintTasks, Org: t.Org, Queue: t.Queue})
	} else {
		d.hint(Hint{Kind: HintDue})
	}
	return nil
}

// endTask brings a task to a terminal status.
func (d *draft) endTask(t *perdure.Task, status perdure.TaskStatus, event perdure.EventType, blocks perdure.BlockReason) error {
	d.free(t)
	now := d.s.Now
	t.Status, t.CompletedAt, t.WorkerID, t.LeaseUntil = status, &now, nil, perdure.Time{}
	if err := d.closeBlocksOf(t, blocks); err != nil {
		return err
	}
	d.task(t)
	members := map[string]any{}
	if t.Error != nil {
		members["error"], members["code"] = t.Error.Message, t.Error.Code
	}
	d.taskEvent(event, t, members)
	if d.x.Status == perdure.StatusCancelling { // the agent no longer uses the summary that the task writes
		d.compactionEnded(t, perdure.StatusCancelled)
	}
	return nil
}

// maxLost is the maximum number of lost attempts of a task. When one more attempt is lost, the task
// fails, because it probably crashes its workers.
const maxLost = 10

// loseAttempt handles the loss of the worker that ran an attempt of a task. The task runs again, or
// it ends if OnLostReport is set or too many attempts were lost. A lost attempt does not count for
// the retry policy.
func (d *draft) loseAttempt(t *perdure.Task, why string) error {
	t.Uncounted++
	t.Lost++
	t.ClaimID = uuid.Nil // the lost worker cannot report an outcome later
	var err error
	switch {
	case t.Options.OnLost == perdure.OnLostReport:
		t.Error = &perdure.TaskError{
			Code: "interrupted", Permanent: true,
			Message: "interrupted: " + why + "; it may or may not have taken effect",
		}
		d.takeBack(t, true)
		err = d.endTask(t, perdure.TaskInterrupted, perdure.EventTaskInterrupted, perdure.BlockSuperseded)
	case t.Lost > maxLost:
		t.Error = &perdure.TaskError{
			Code: "crash_loop", Permanent: true,
			Message: fmt.Sprintf("its worker was lost %d times in the middle of it", t.Lost),
		}
		d.takeBack(t, true)
		err = d.endTask(t, perdure.TaskFailed, perdure.EventTaskFailed, perdure.BlockSuperseded)
	default:
		err = d.retry(t, 0, "lost")
	}
	if err == nil && t.Status.Terminal() {
		d.wake(facts{tasks: map[uuid.UUID]perdure.TaskStatus{t.ID: t.Status}}, perdure.WakeTask)
	}
	return err
}
