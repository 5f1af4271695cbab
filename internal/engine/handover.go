package engine

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/board"
	"github.com/perdure/perdure/internal/rules"
)

// reserve reserves a slot in an open poll of the worker that keeps the execution's goroutine. It
// returns nil if there is no such poll or no free slot. The caller must call settle with the
// result.
func (e *Engine) reserve(ctx context.Context, org string, execution uuid.UUID) *board.Slot {
	if !e.Claims(ctx, org) {
		return nil
	}
	paused, err := e.PausedQueues(ctx, org)
	if err != nil {
		return nil
	}
	slot := e.keepers.Reserve(org, execution, &e.drains)
	if slot != nil {
		slot.Poll.Queues = without(slot.Poll.Queues, paused)
		slot.Waited = since(slot.Began())
	}
	return slot
}

// settle ends the reservation of the slot. If w is not nil, the command has claimed the execution,
// and settle passes the claim to the slot's poll. If the data of the claim cannot be read, settle
// releases the claim.
func (e *Engine) settle(ctx context.Context, slot *board.Slot, w *rules.Woken) {
	if slot == nil {
		return
	}
	var claim *perdure.AgentClaim
	if w != nil {
		ctx = context.WithoutCancel(ctx)
		e.keepers.Resumed(w.Execution.ID)
		var err error
		if claim, err = e.claimOf(ctx, w); err != nil {
			e.Logger.Warn("a claim could not be read, and is given back", "execution", w.Execution.ID, "error", err)
			e.giveBack(ctx, w.Execution.Org, agentBack(slot.Poll.WorkerID, perdure.Lease{ExecutionID: w.Execution.ID, Fence: w.Execution.Fence, ClaimID: w.Execution.ClaimID}))
		}
	}
	e.keepers.Settle(slot, claim)
}

// untilClaimed polls for executions by calling the function `try`, until `try` returns a claim,
// p.Wait is over or ctx ends. It also returns claims that other commands have handed over to the
// poll.
func (e *Engine) untilClaimed(ctx context.Context, o *board.Poll, topics []string, try func(context.Context) ([]perdure.AgentClaim, time.Duration, error)) ([]perdure.AgentClaim, error) {
	look := func(ctx context.Context) ([]perdure.AgentClaim, time.Duration, error) {
		if given := e.keepers.Rise(o); len(given) > 0 {
			return given, 0, nil
		}
		claims, soon, err := try(ctx)
		if err == nil && len(claims) == 0 {
			e.keepers.Rest(o)
		}
		return claims, soon, err
	}
	claims, err := poll(ctx, e, o.Poll, topics, o.Handed(), look)
	if len(claims) == 0 && err == nil {
		claims = e.keepers.Rise(o)
	}
	return claims, err
}
