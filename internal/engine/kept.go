package engine

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// woken is a claim that a decision has made, with data that the decision already holds.
type woken struct {
	execution perdure.Execution
	// kept is the state of the goroutine that the worker keeps. If it is not known, kept is nil,
	// and the claim must contain everything.
	kept   *perdure.Kept
	task   *perdure.Task   // the task whose end by this worker made the claim, without contents; may be nil
	signal *perdure.Signal // the signal that made the claim, with its value; may be nil
	waited time.Duration   // how long the poll that returns the claim had waited
	again  bool            // the claim was made before, and its answer is repeated
	ended  bool            // the poll asked for the ended tasks and steps
}

// claimOf returns the claim for a worker. If the worker keeps the goroutine, and the decision holds
// everything that is new to it, claimOf reads nothing.
func (e *Engine) claimOf(ctx context.Context, w *woken) (*perdure.AgentClaim, error) {
	x := w.execution
	if w.kept == nil || !lastCommit(&x).Same(w.kept.At) || x.PersistenceMode == perdure.Local {
		claim, err := e.agentClaim(ctx, &x, w.ended)
		if err == nil {
			claim.Waited = w.waited
		}
		return claim, err
	}
	x.Input, x.InputBlob, x.Output, x.OutputBlob = nil, nil, nil, nil
	claim := e.claimFor(&x)
	claim.Waited = w.waited
	claim.Execution, claim.Kept, claim.SignalsTo = &x, true, x.NextSignal
	seen, ids := w.kept.Seen, waitedFor(&x)
	if w.task != nil {
		claim.Results = []*perdure.Task{w.task}
		ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return id == w.task.ID })
	}
	if w.signal != nil && w.signal.Order == seen+1 {
		seen = w.signal.Order
		claim.Signals = []perdure.Signal{*w.signal}
	}
	if len(ids) == 0 && seen >= x.NextSignal {
		return claim, nil
	}
	err := e.refs.Together(ctx, func(refs store.Reader) error {
		others, err := tasksOf(ctx, refs, x.ID, ids)
		if err != nil {
			return err
		}
		claim.Results = append(claim.Results, others...)
		if seen >= x.NextSignal {
			return nil
		}
		return laterSignals(ctx, refs, claim, w.kept.Seen)
	})
	if err != nil {
		return nil, err
	}
	return claim, nil
}

// laterSignals adds the pending signals after seen to the claim.
func laterSignals(ctx context.Context, refs store.Reader, claim *perdure.AgentClaim, seen int64) (err error) {
	claim.Signals, claim.MoreSignals, err = pendingSignals(ctx, refs, claim.Execution.ID, nil, seen)
	if n := len(claim.Signals); n > 0 {
		last := claim.Signals[n-1].Order
		if claim.SignalsTo = max(claim.SignalsTo, last); claim.MoreSignals {
			claim.SignalsTo = last
		}
	}
	return err
}

// claimFor returns a claim with lease and position only.
func (e *Engine) claimFor(claimed *perdure.Execution) *perdure.AgentClaim {
	return &perdure.AgentClaim{
		Lease:    perdure.Lease{ExecutionID: claimed.ID, Fence: claimed.Fence, ClaimID: claimed.ClaimID},
		LeaseFor: e.Lease, Woke: claimed.Woke, LastCommit: lastCommit(claimed),
	}
}

// waitedFor returns the tasks in the execution's wait.
func waitedFor(x *perdure.Execution) []uuid.UUID {
	if x.Wait == nil {
		return nil
	}
	return x.Wait.Tasks()
}
