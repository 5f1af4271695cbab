package engine

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// inlineSignals is the approximate maximum number of bytes of signals that a claim carries.
const inlineSignals = 1 << 20

// claimOf returns the claim of an execution that a command has woken and claimed for a worker. If
// the worker has parked the execution's goroutine at the last commit, the claim contains only the
// data that is new since that commit. If w has all of this data, claimOf reads nothing from the
// store.
func (e *Engine) claimOf(ctx context.Context, w *rules.Woken) (*perdure.AgentClaim, error) {
	x := w.Execution
	if w.Kept == nil || !rules.LastCommit(&x).Same(w.Kept.At) || x.PersistenceMode == perdure.Local {
		claim, err := e.agentClaim(ctx, &x, w.Ended)
		if err == nil {
			claim.Waited = w.Waited
		}
		return claim, err
	}
	x.Input, x.InputBlob, x.Output, x.OutputBlob, x.Gate = nil, nil, nil, nil, nil
	claim := e.claimFor(&x)
	claim.Waited = w.Waited
	claim.Execution, claim.ContinuesParked, claim.SignalsTo = &x, true, x.NextSignal
	seen, ids, asked := w.Kept.Seen, waitedFor(&x), waitedQuestions(&x)
	if w.Task != nil {
		claim.Results = []*perdure.Task{w.Task}
		ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return id == w.Task.ID })
	}
	if w.Signal != nil && w.Signal.Order == seen+1 {
		seen = w.Signal.Order
		claim.Signals = []perdure.Signal{*w.Signal}
	}
	if len(ids) == 0 && len(asked) == 0 && seen >= x.NextSignal {
		return claim, nil
	}
	err := e.refs.Together(ctx, func(refs store.ClaimReader) error {
		others, err := tasksOf(ctx, refs, x.ID, ids)
		if err != nil {
			return err
		}
		claim.Results = append(claim.Results, others...)
		if claim.Questions, err = questions.ForWorker(ctx, refs, x.ID, asked); err != nil {
			return err
		}
		if seen >= x.NextSignal {
			return nil
		}
		return laterSignals(ctx, refs, claim, w.Kept.Seen)
	})
	if err != nil {
		return nil, err
	}
	return claim, nil
}

// laterSignals adds the pending signals to the claim, except those with an Order up to `seen`, which
// the worker already has.
func laterSignals(ctx context.Context, refs store.ClaimReader, claim *perdure.AgentClaim, seen int64) (err error) {
	claim.Signals, claim.MoreSignals, err = pendingSignals(ctx, refs, claim.Execution.ID, nil, seen)
	if n := len(claim.Signals); n > 0 {
		last := claim.Signals[n-1].Order
		if claim.SignalsTo = max(claim.SignalsTo, last); claim.MoreSignals {
			claim.SignalsTo = last
		}
	}
	return err
}

// claimFor returns a claim with the lease, the cause of the wake-up and the number of the last
// commit. The caller fills the other fields.
func (e *Engine) claimFor(claimed *perdure.Execution) *perdure.AgentClaim {
	return &perdure.AgentClaim{
		Lease:    perdure.Lease{ExecutionID: claimed.ID, Fence: claimed.Fence, ClaimID: claimed.ClaimID},
		LeaseFor: e.Lease, WakeReason: claimed.WakeReason, LastCommit: rules.LastCommit(claimed),
	}
}

// waitedFor returns the ids of the tasks that the execution waits for, nil if it does not wait.
func waitedFor(x *perdure.Execution) []uuid.UUID {
	if x.Wait == nil {
		return nil
	}
	return x.Wait.Tasks()
}

// agentClaim reads the data that a worker needs to resume an execution. The cost does not depend on
// the length of the conversation, because no entries are read.
func (e *Engine) agentClaim(ctx context.Context, claimed *perdure.Execution, ended bool) (claim *perdure.AgentClaim, err error) {
	err = e.refs.Together(ctx, func(refs store.ClaimReader) error {
		claim, err = e.claimRead(ctx, refs, claimed)
		if err == nil && ended {
			claim.Ended, err = firstEnded(ctx, refs, claimed, claim.Checkpoint)
		}
		return err
	})
	return claim, err
}

// claimRead reads the data for agentClaim. All reads use refs, which must read from one snapshot of
// the store.
func (e *Engine) claimRead(ctx context.Context, refs store.ClaimReader, claimed *perdure.Execution) (*perdure.AgentClaim, error) {
	x, err := refs.Execution(ctx, claimed.Org, claimed.ID)
	if err != nil {
		return nil, err
	}
	claim := e.claimFor(claimed)
	claim.Execution = x
	if x.CheckpointSeq > 0 {
		if claim.Checkpoint, err = refs.Checkpoint(ctx, x.ID, 0); err != nil {
			return nil, err
		}
	}
	if claim.Again, err = refs.TakenSignals(ctx, x.ID); err != nil {
		return nil, err
	}
	if claim.Results, err = tasksOf(ctx, refs, x.ID, waitedFor(claimed)); err != nil {
		return nil, err
	}
	if claim.Questions, err = questions.ForWorker(ctx, refs, x.ID, waitedQuestions(claimed)); err != nil {
		return nil, err
	}
	claim.SignalsTo = x.NextSignal
	return claim, laterSignals(ctx, refs, claim, 0)
}

func tasksOf(ctx context.Context, refs store.ClaimReader, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := refs.Tasks(ctx, execution, ids, false)
	if err != nil {
		return nil, err
	}
	var tasks []*perdure.Task
	for _, t := range found {
		if t != nil {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// pendingSignals returns the oldest pending signals whose Order is greater than the parameter
// `after`: at most 200, and about a mebibyte. It also reports whether there are more.
func pendingSignals(ctx context.Context, refs store.ClaimReader, execution uuid.UUID, patterns []string, after int64) ([]perdure.Signal, bool, error) {
	const most = 200
	signals, err := refs.PendingSignals(ctx, execution, patterns, after, most+1)
	if err != nil {
		return nil, false, err
	}
	size := 0
	for i, s := range signals {
		if size += int(perdure.Payload{Bytes: s.Value, Blob: s.Blob}.Size()); i > 0 && (size > inlineSignals || i == most) {
			return signals[:i], true, nil
		}
	}
	return signals, false, nil
}

// waitedQuestions returns the ids of the questions that the execution waits for, nil if it does not
// wait.
func waitedQuestions(x *perdure.Execution) []uuid.UUID {
	if x.Wait == nil {
		return nil
	}
	return x.Wait.Questions()
}
