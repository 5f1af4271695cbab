package tenant

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// NewBulkAction is a bulk action to insert, with its executions.
type NewBulkAction struct {
	Row        perdure.BulkAction
	Executions []uuid.UUID
}

// BulkByKey looks up a bulk action by the idempotency key of its request. The command's result is
// the action, nil if the key is not in use. Errors: idempotency_key_reused.
func BulkByKey(s *store.State, key string, request perdure.Hash) (*store.Changes, error) {
	known := s.BulkByKey
	switch {
	case known == nil || !known.CreatedAt.Add(perdure.BulkKeyKept).After(s.Now.Time):
		return rules.Answer((*perdure.BulkAction)(nil)), nil
	case known.RequestHash != request:
		return nil, rules.KeyReused(key)
	}
	return rules.Answer(known), nil
}

// StartBulkAction inserts a bulk action. The command's result is the action's row. If the
// idempotency key belongs to an existing action, nothing is inserted, and the result is the row of
// that action. Errors: conflict (too many actions run), idempotency_key_reused.
func StartBulkAction(s *store.State, by Change, n NewBulkAction) (*store.Changes, error) {
	if s.BulkAction != nil {
		return rules.Answer(s.BulkAction), nil // the store runs a command again if the outcome of its transaction is unknown
	}
	known, err := BulkByKey(s, n.Row.IdempotencyKey, n.Row.RequestHash)
	if err != nil || known.Answer.(*rules.Decision).Value != (*perdure.BulkAction)(nil) {
		return known, err
	}
	if s.BulkRunning >= perdure.MaxBulkActions {
		return nil, perdure.Errorf(perdure.Conflict, "%d bulk actions of the org run, and no more are allowed; wait for the end of one", s.BulkRunning)
	}
	a := n.Row
	a.Org, a.CreatedAt, a.Status, a.Matched, a.Errors = by.Org, s.Now, perdure.BulkRunning, len(n.Executions), []perdure.BulkError{}
	endBulkAction(&a, s.Now)
	old := s.Now.Add(-perdure.BulkActionKept)
	ch := &store.Changes{BulkAction: &a, BulkExecutions: n.Executions, ForgetBulk: &old, Audit: by.bulkAction(s.Now, &a)}
	ch.Answer = &rules.Decision{Value: &a, Hints: []rules.Hint{{Kind: rules.HintBulk}}}
	return ch, nil
}

// endBulkAction completes a bulk action that has handled all its executions.
func endBulkAction(a *perdure.BulkAction, now perdure.Time) {
	if a.Handled() >= a.Matched {
		a.Status, a.EndedAt = perdure.BulkCompleted, &now
	}
}

// bulkAction returns the audit record of a new bulk action.
func (c Change) bulkAction(now perdure.Time, a *perdure.BulkAction) *perdure.AuditRecord {
	r := c.record(now)
	r.SubjectID, r.SubjectName, r.After = idOf(a.ID), string(a.Action), sumOf(a)
	return r
}

// BulkTurn is the part of a bulk action that concerns one execution.
type BulkTurn struct {
	Action    uuid.UUID
	At        int // number of the execution in the action, from 0
	Execution uuid.UUID
	// Retry is the signal that an action with the command retry sends.
	Retry rules.NewSignal
}

// Needs says which rows the engine must read into the store.State that it passes to TakeBulkTurn.
func (t BulkTurn) Needs(name perdure.BulkActionName, x *perdure.Execution) store.Needs {
	n := rules.EndNeeds(x)
	if name == perdure.BulkRetry {
		n = rules.SignalNeeds(x, t.Retry)
	}
	n.BulkAction = &t.Action
	return n
}

// TakeBulkTurn applies a bulk action to one execution, and counts the execution as handled. If the
// execution was handled already, nothing changes. If the command cannot be applied to the
// execution, the execution counts as failed. The command's result is the updated action;
// nil if the action was deleted.
func TakeBulkTurn(s *store.State, cfg rules.Config, t BulkTurn) (*store.Changes, error) {
	a := s.BulkAction
	if a == nil || a.Status != perdure.BulkRunning || a.Handled() != t.At {
		return rules.Answer(a), nil
	}
	ch, err := actOn(s, cfg, a, t)
	switch {
	case err != nil:
		a.Fail(t.Execution, err)
		ch = nil
	case ch == nil:
		a.Skipped++
	default:
		a.Done++
	}
	if ch == nil {
		ch = rules.Answer(nil)
	}
	endBulkAction(a, s.Now)
	if d, ok := ch.Answer.(*rules.Decision); ok {
		d.Value = a
	}
	ch.BulkAction = a
	return ch, nil
}

// actOn returns the changes that a bulk action makes to one execution; nil if it has no effect on
// that execution.
func actOn(s *store.State, cfg rules.Config, a *perdure.BulkAction, t BulkTurn) (*store.Changes, error) {
	if s.Execution == nil || !a.Takes(s.Execution) {
		return nil, nil
	}
	if a.Action == perdure.BulkRetry {
		return rules.Signal(s, cfg, t.Execution, t.Retry)
	}
	return rules.Cancel(s, cfg, t.Execution)
}
