package engine

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// woken is a claim that a decision has made, with what the decision knows of it.
type woken struct {
	execution perdure.Execution
	// kept is what the worker keeps that it was made for; nil if that is not known,
	// and the claim then brings everything.
	kept   *perdure.Kept
	task   *perdure.Task   // that the worker itself ended by the decision, without contents; may be nil
	signal *perdure.Signal // that came by it, with its value; may be nil
	waited time.Duration   // how long the poll had waited that is answered with it
	again  bool            // it was made before, and the answer is given again
	ended  bool            // the poll asked for what has ended
}

// claimOf returns the claim to hand out. For a goroutine that is kept and has been
// told everything but what the decision brings, nothing is read.
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

// laterSignals puts the pending signals after seen into the claim.
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

// claimFor returns a claim's bare bones.
func (e *Engine) claimFor(claimed *perdure.Execution) *perdure.AgentClaim {
	return &perdure.AgentClaim{
		Lease:    perdure.Lease{ExecutionID: claimed.ID, Fence: claimed.Fence, ClaimID: claimed.ClaimID},
		LeaseFor: e.Lease, Woke: claimed.Woke, LastCommit: lastCommit(claimed),
	}
}

// waitedFor are the tasks that the execution waited for.
func waitedFor(x *perdure.Execution) []uuid.UUID {
	if x.Wait == nil {
		return nil
	}
	return x.Wait.Tasks()
}
