package engine

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// finishTask ends an attempt, and wakes the execution if it waits for the task. If another worker
// keeps the execution's goroutine, the claim goes to an open poll of that worker.
func (e *Engine) finishTask(ctx context.Context, org string, f perdure.TaskFinish) (perdure.FinishReply, error) {
	if err := e.checkSize("the result", f.Result.Size()); err != nil {
		return perdure.FinishReply{}, err
	}
	refs, err := e.checkContents(ctx, org, f.Lease.ExecutionID, []content{{field: "result", Payload: f.Result}})
	if err != nil {
		return perdure.FinishReply{}, err
	}
	jitter := rand.Float64()
	drains := e.alone.drains(f.WorkerID, e.Store.Now())
	var h *handover
	if !f.Parked {
		h = e.reserve(ctx, org, f.Lease.ExecutionID)
	}
	d, err := e.one(ctx, store.Command{
		Name: "finish", Lane: store.LaneCommits, Org: org, Execution: f.Lease.ExecutionID, Bytes: len(f.Result.Bytes),
		Needs: func(*perdure.Execution) store.Needs {
			n := finishNeeds(f)
			h.needs(&n)
			return n
		},
		Decide: func(s *store.State) (*store.Changes, error) { return e.decideFinish(s, f, refs, jitter, drains, h) },
	})
	if h != nil {
		e.settle(ctx, h, d.woken)
		return perdure.FinishReply{}, err
	}
	if err != nil {
		return perdure.FinishReply{}, err
	}
	if d.woken == nil {
		return perdure.FinishReply{}, nil
	}
	e.parked.resumed(d.woken.execution.ID)
	claim, err := e.claimOf(ctx, d.woken)
	if err == nil && d.woken.again {
		claim.LeaseFor = e.left(d.woken.execution.LeaseUntil)
	}
	return perdure.FinishReply{Claim: claim}, perdure.Unanswered(err)
}

func finishNeeds(f perdure.TaskFinish) store.Needs {
	n := store.Needs{Tasks: []uuid.UUID{f.Lease.TaskID}, TaskBlocks: []uuid.UUID{f.Lease.TaskID}, AttemptBlocks: f.Error != nil}
	if f.Parked {
		n.Worker = &f.WorkerID
	}
	for _, b := range f.Blocks {
		n.Blocks = append(n.Blocks, b.Key)
	}
	if f.Result.Blob != nil {
		n.Blobs = []uuid.UUID{f.Result.Blob.ID}
	}
	return n
}

func (e *Engine) decideFinish(s *store.State, f perdure.TaskFinish, refs checkedRefs, jitter float64, drains bool, h *handover) (*store.Changes, error) {
	t := s.Tasks[f.Lease.TaskID]
	if s.Execution == nil || t == nil {
		return nil, perdure.Errorf(perdure.NotFound, "there is no task %s in execution %s", f.Lease.TaskID, f.Lease.ExecutionID)
	}
	if t.Attempt != f.Lease.Attempt || t.ClaimID != f.Lease.ClaimID {
		return nil, taskLeaseLost(t.ID)
	}
	if t.Status != perdure.TaskRunning {
		return e.repeatedFinish(s, f, t)
	}
	result := e.keptOf(s.Execution)
	if result.payload("result", f.Result); result.err != nil {
		return nil, result.err
	}
	d := begin(s)
	d.refs = refs
	if err := d.endBlocks(f.Blocks); err != nil {
		return nil, err
	}
	if err := d.endAttempt(t, f, jitter); err != nil {
		return nil, err
	}
	if !t.Status.Terminal() {
		return d.done(nil), nil
	}
	woke := d.wake(facts{tasks: map[uuid.UUID]perdure.TaskStatus{t.ID: t.Status}}, perdure.WokeTask)
	if woke && h != nil {
		h.take(e, d, nil)
	}
	if !woke || !f.Parked || drains || s.Holds.Alone || mustBeAlone(s.Execution) || !mayClaim(d.x, f.WorkerID, true) {
		return d.done(nil), nil
	}
	d.claimFor(f.WorkerID, wakeClaim(f.Lease), f.Embedded, s.Now.Add(e.Lease))
	ended := *t // the worker already has the contents
	ended.Input, ended.InputBlob, ended.Result, ended.ResultBlob = nil, nil, nil, nil
	d.woken = &woken{kept: f.Kept, task: &ended}
	return d.done(nil), nil
}

// wakeClaim returns the id of the claim that the end of an attempt makes for the execution that it
// wakes. The id is derived from the attempt's claim id, so that a repeat is recognized.
func wakeClaim(l perdure.TaskLease) uuid.UUID { return derive(l.ClaimID, "wake") }

// repeatedFinish answers a repeated request like the first one. The answer contains the claim of
// the first one as long as the worker still holds it.
func (e *Engine) repeatedFinish(s *store.State, f perdure.TaskFinish, t *perdure.Task) (*store.Changes, error) {
	if t.Status == perdure.TaskCancelled || t.Status == perdure.TaskInterrupted {
		return nil, taskLeaseLost(t.ID)
	}
	x := s.Execution
	changes := answerOf(nil)
	if f.Parked && x.Status.Held() && x.ClaimID == wakeClaim(f.Lease) {
		changes.Answer.(*decided).woken = &woken{execution: *x, again: true} // the execution's wait may be another by now
	}
	return changes, nil
}

// endAttempt decides the state of a task whose attempt has ended.
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

// failAttempt schedules the next attempt after a pause, or ends the task as failed.
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

// retry lets the task be claimed again after the pause, and marks the blocks of its attempt as
// superseded. If the execution is being cancelled, retry cancels the task instead.
func (d *draft) retry(t *perdure.Task, pause time.Duration, why string) error {
	if d.x.Status == perdure.StatusCancelling {
		d.cancelTask(t, notBegun)
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
		d.hint(notify.Tasks(t.Org, t.Queue))
	} else {
		d.hint(notify.Due)
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
	return nil
}

func taskLeaseLost(id uuid.UUID) error {
	return perdure.Errorf(perdure.LeaseLost, "the lease on task %s is over", id)
}
