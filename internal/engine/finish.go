package engine

import (
	"context"
	"math/rand/v2"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/board"
	"github.com/perdure/perdure/internal/engine/uploads"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// finishTask ends an attempt of a task, and wakes the task's execution if its wait is now met. If
// the worker that ran the task has parked the goroutine of the execution (Parked), the reply
// contains the claim of the execution. Otherwise, if the worker that has parked the goroutine has
// an open poll, that poll returns the claim.
func (e *Engine) finishTask(ctx context.Context, org string, f perdure.TaskFinish) (perdure.FinishReply, error) {
	if err := e.uploads.CheckSize("the result", f.Result.Size()); err != nil {
		return perdure.FinishReply{}, err
	}
	contents := []uploads.Content{{Field: "result", Payload: f.Result}}
	if err := e.Kinds.FitResult(ctx, org, f, &contents[0]); err != nil {
		return perdure.FinishReply{}, err
	}
	refs, err := e.uploads.CheckAll(ctx, org, f.Lease.ExecutionID, contents)
	if err != nil {
		return perdure.FinishReply{}, err
	}
	end := rules.TaskEnd{TaskFinish: f, Refs: refs, Jitter: rand.Float64(), Draining: e.drains.Draining(f.WorkerID, e.Store.Now())}
	var h *board.Slot
	if f.Parked {
		if end.Paused, err = e.PausedQueues(ctx, org); err != nil {
			return perdure.FinishReply{}, err
		}
	} else {
		h = e.reserve(ctx, org, f.Lease.ExecutionID)
		end.Handover = h.Decision()
	}
	d, err := e.one(ctx, store.Command{
		Name: "finish", Lane: store.LaneCommits, Org: org, Execution: f.Lease.ExecutionID, Bytes: len(f.Result.Bytes),
		Needs:  func(*perdure.Execution) store.Needs { return rules.FinishNeeds(end) },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.Finish(s, e.rules(), end) },
	})
	if h != nil {
		e.settle(ctx, h, d.Woken)
		return perdure.FinishReply{}, err
	}
	if err != nil {
		return perdure.FinishReply{}, err
	}
	if d.Woken == nil {
		return perdure.FinishReply{}, nil
	}
	e.keepers.Resumed(d.Woken.Execution.ID)
	claim, err := e.claimOf(ctx, d.Woken)
	if err == nil && d.Woken.Again {
		claim.LeaseFor = e.left(d.Woken.Execution.LeaseUntil)
	}
	return perdure.FinishReply{Claim: claim}, perdure.Unanswered(err)
}
