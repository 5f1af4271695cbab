// Package bulk implements bulk actions: the same command on each execution that matches a filter.
// The store keeps, for each action, the ids of its executions, and the number of those that are
// handled. The command on one execution and its count are one transaction, called a turn of the
// action (not to be confused with the turns of a conversation). Each execution therefore gets the
// command exactly once, even if servers crash or retry. Any server continues any action.
package bulk

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

const (
	// stepTurns is how many executions of one action a server handles in a row. The server then
	// continues with the next action.
	stepTurns = 50
	// listPage is the number of running actions that one query returns.
	listPage = 100
	// matchPage is the number of executions that one query returns. maxPages is the maximum number
	// of such queries; each examines a limited number of executions.
	matchPage, maxPages = 1000, 200
)

// Config configures the actions. All fields are required.
type Config struct {
	Store store.Store
	// One runs a command on the store, and returns the command's result (rules.Decision.Value).
	One func(context.Context, store.Command) (any, error)
	// Rules returns the settings that functions of package rules use.
	Rules func() rules.Config
	// Signal checks a signal without a value that is to be sent to the execution. It returns the
	// signal in the form in which it is stored.
	Signal func(ctx context.Context, org string, execution uuid.UUID, name, id string) (rules.NewSignal, error)
	Hints  notify.Notifier
	Logger *slog.Logger
	// Tick is the interval at which a server looks for running actions, even without a hint.
	Tick time.Duration
}

// Actions implements the commands on bulk actions, and continues the bulk actions that are running.
type Actions struct{ Config }

// Request is a request to start a bulk action, or to count the executions to which the action would
// apply.
type Request struct {
	Action perdure.BulkActionName
	Filter perdure.BulkFilter
	// Kinds are the kinds of executions that have the tag in the filter; nil if the filter has no
	// tag.
	Kinds  []string
	Reason string
	// IdempotencyKey, if set, identifies the request for 24 hours.
	IdempotencyKey string
}

// hash returns a hash of the request's content, by which Start recognizes a repeated request.
func (r Request) hash() (perdure.Hash, error) {
	raw, err := json.Marshal([]any{"bulk action", r.Action, r.Filter, r.Reason})
	if err != nil {
		return perdure.Hash{}, perdure.FieldErrorf("filter", "does not encode: %v", err)
	}
	return sha256.Sum256(raw), nil
}

// Count returns the number of executions to which a bulk action would apply. Errors:
// invalid_argument.
func (a *Actions) Count(ctx context.Context, org string, r Request) (perdure.BulkCount, error) {
	statuses, err := r.check()
	if err != nil {
		return perdure.BulkCount{}, err
	}
	ids, err := a.match(ctx, org, r, statuses)
	return perdure.BulkCount{Matched: min(len(ids), perdure.MaxBulkExecutions), More: len(ids) > perdure.MaxBulkExecutions}, err
}

// Start creates a bulk action on the executions that match now. A repeat with the same
// IdempotencyKey returns the action of the first request. Errors: invalid_argument (also if too
// many executions match), conflict (too many actions run), idempotency_key_reused.
func (a *Actions) Start(ctx context.Context, org string, r Request) (*perdure.BulkAction, error) {
	statuses, err := r.check()
	if err != nil {
		return nil, err
	}
	n := tenant.NewBulkAction{
		Row: perdure.BulkAction{
			ID: uuid.Must(uuid.NewV7()), Action: r.Action, Filter: r.Filter, Reason: r.Reason, Statuses: statuses, KeyID: store.KeyOf(ctx),
		},
	}
	if r.IdempotencyKey != "" {
		n.Row.IdempotencyKey = r.IdempotencyKey
		if n.Row.RequestHash, err = r.hash(); err != nil {
			return nil, err
		}
		if known, err := a.keyed(ctx, org, n.Row); known != nil || err != nil {
			return known, err
		}
	}
	if n.Executions, err = a.match(ctx, org, r, statuses); err != nil {
		return nil, err
	}
	if len(n.Executions) > perdure.MaxBulkExecutions {
		return nil, perdure.FieldErrorf("filter", "matches over %d runs, and a bulk action has that many at most; narrow it, for example with createdBefore, and repeat the action for the rest", perdure.MaxBulkExecutions)
	}
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: org, Action: perdure.AuditBulkCreated}
	made, err := a.One(ctx, store.Command{
		Name: string(by.Action), Lane: store.LaneCommits, Org: org, Bytes: len(n.Executions) * len(uuid.Nil),
		Needs: func(*perdure.Execution) store.Needs {
			return store.Needs{BulkAction: &n.Row.ID, BulkActions: true, BulkKey: n.Row.IdempotencyKey}
		},
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.StartBulkAction(s, by, n) },
	})
	if err != nil {
		return nil, err
	}
	return made.(*perdure.BulkAction), nil
}

// keyed returns the action that an earlier request with the row's idempotency key created, nil if
// the key is not in use. Errors: idempotency_key_reused.
func (a *Actions) keyed(ctx context.Context, org string, row perdure.BulkAction) (*perdure.BulkAction, error) {
	known, err := a.One(ctx, store.Command{
		Name: "look up bulk action", Lane: store.LaneCommits, Org: org,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{BulkKey: row.IdempotencyKey} },
		Decide: func(s *store.State) (*store.Changes, error) {
			return tenant.BulkByKey(s, row.IdempotencyKey, row.RequestHash)
		},
	})
	if err != nil {
		return nil, err
	}
	return known.(*perdure.BulkAction), nil
}

// check checks the request. It returns the statuses of the executions to which the action applies.
func (r Request) check() ([]perdure.Status, error) {
	for at, text := range map[string]any{"filter": r.Filter, "reason": r.Reason, "Idempotency-Key": r.IdempotencyKey} {
		if err := validate.Texts(at, text); err != nil {
			return nil, err
		}
	}
	if len(r.Reason) > perdure.MaxBulkReason {
		return nil, perdure.FieldErrorf("reason", "has over %d bytes", perdure.MaxBulkReason)
	}
	return r.Action.BulkStatuses(r.Filter.Status)
}

// match returns the executions that match the request, newest first. It returns at most one
// execution more than an action may have; the additional execution shows that too many match.
// Errors: invalid_argument, if too many executions must be examined.
func (a *Actions) match(ctx context.Context, org string, r Request, statuses []perdure.Status) (ids []uuid.UUID, err error) {
	f := r.Filter
	q := store.ExecutionFilter{
		Status: statuses, Kind: f.Kind, Kinds: r.Kinds, DefinitionID: f.DefinitionID, CreatedAfter: f.CreatedAfter, CreatedBefore: f.CreatedBefore,
		Metadata: f.Metadata, FailedTurn: f.FailedTurn, Query: f.Query, Limit: matchPage,
	}
	for range maxPages {
		page, err := a.Store.Executions(ctx, org, q)
		if err != nil {
			return nil, err
		}
		for _, x := range page.Items {
			if r.Action.Takes(statuses, x) {
				ids = append(ids, x.ID)
			}
			if len(ids) > perdure.MaxBulkExecutions {
				return ids, nil
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return ids, nil
		}
	}
	return nil, perdure.FieldErrorf("filter", "leaves too many runs to examine; narrow it, for example with createdAfter, status or kind")
}
