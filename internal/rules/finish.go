package rules

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// TaskEnd is the end of an attempt of a task, as the task's worker reports it.
type TaskEnd struct {
	perdure.TaskFinish
	Refs   CheckedRefs
	Jitter float64 // from 0 to 1, for the pause before the next attempt
	// Draining reports whether the worker gets no new claims until all its claims have ended.
	Draining bool
	// Paused are the paused queues of the execution's org.
	Paused   map[string]bool
	Handover *Handover // nil if no open poll can take the execution
}

// FinishNeeds says which rows the engine must read into the store.State that it passes to Finish.
func FinishNeeds(f TaskEnd) store.Needs {
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
	f.Handover.needs(&n)
	return n
}

// Finish ends an attempt of a task. If the end of the task meets the execution's wait, Finish wakes
// the execution. It also claims the execution (Decision.Woken) if the worker that ran the task
// keeps the execution's goroutine, or if an open poll has reserved a slot for the execution.
// Errors: not_found, lease_lost, conflict, invalid_argument.
func Finish(s *store.State, cfg Config, f TaskEnd) (*store.Changes, error) {
	t := s.Tasks[f.Lease.TaskID]
	if s.Execution == nil || t == nil {
		return nil, perdure.Errorf(perdure.NotFound, "there is no task %s in execution %s", f.Lease.TaskID, f.Lease.ExecutionID)
	}
	if t.Attempt != f.Lease.Attempt || t.ClaimID != f.Lease.ClaimID {
		return nil, taskLeaseLost(t.ID)
	}
	if t.Status != perdure.TaskRunning {
		return repeatedFinish(s, f.TaskFinish, t)
	}
	result := cfg.localContents(s.Execution)
	if result.payload("result", f.Result); result.err != nil {
		return nil, result.err
	}
	d := begin(s)
	d.cfg, d.refs = cfg, f.Refs
	if err := d.endBlocks(f.Blocks); err != nil {
		return nil, err
	}
	if err := d.endAttempt(t, f.TaskFinish, f.Jitter); err != nil {
		return nil, err
	}
	if !t.Status.Terminal() {
		return d.done(nil), nil
	}
	woke := d.wake(facts{tasks: map[uuid.UUID]perdure.TaskStatus{t.ID: t.Status}}, perdure.WakeTask)
	if woke {
		d.handOver(f.Handover, nil)
	}
	if !woke || !f.Parked || f.Draining || f.Paused[s.Execution.Queue] || s.Holds.Alone || mustBeAlone(s.Execution) || !mayClaim(d.x, f.WorkerID, true) ||
		f.Features.Lacks(d.x.NeedsFeatures) != 0 {
		return d.done(nil), nil
	}
	d.claimFor(f.WorkerID, wakeClaim(f.Lease), f.Embedded, s.Now.Add(cfg.Lease))
	ended := *t // the worker already has the contents
	ended.Input, ended.InputBlob, ended.Result, ended.ResultBlob = nil, nil, nil, nil
	d.woken = &Woken{Kept: f.Retained, Task: &ended}
	return d.done(nil), nil
}

// wakeClaim returns the id of the claim that Finish makes when the end of an attempt wakes the
// execution. It is derived from the attempt's claim id, so that a repeated request finds that
// claim.
func wakeClaim(l perdure.TaskLease) uuid.UUID { return derive(l.ClaimID, "wake") }

// repeatedFinish returns the reply to a repeated request. It contains the claim that the first
// request made, if that claim is still valid. Error: lease_lost, if the task was cancelled or
// interrupted.
func repeatedFinish(s *store.State, f perdure.TaskFinish, t *perdure.Task) (*store.Changes, error) {
	if t.Status == perdure.TaskCancelled || t.Status == perdure.TaskInterrupted {
		return nil, taskLeaseLost(t.ID)
	}
	x := s.Execution
	changes := Answer(nil)
	if f.Parked && x.Status.Held() && x.ClaimID == wakeClaim(f.Lease) {
		changes.Answer.(*Decision).Woken = &Woken{Execution: *x, Again: true} // the execution may have another wait by now
	}
	return changes, nil
}
