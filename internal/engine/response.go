package engine

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// ResponseRequest is a client's request for a response, apart from its input.
type ResponseRequest struct {
	// Request is stored unchanged with the response.
	Request json.RawMessage
	// Hidden responses cannot be found by their id.
	Hidden bool
}

// row returns the row of a response; the last record of the log must be the event of its input.
func (r *ResponseRequest) row(d *draft, id, signal string) store.Response {
	row := store.Response{ID: id, Execution: d.x.ID, SignalID: signal, FirstPos: d.s.Head.LastPos, CreatedAt: d.s.Now}
	if r != nil {
		row.Request, row.Hidden = r.Request, r.Hidden
	}
	return row
}

// join records that an entry's input got the id of another response than the one that took it.
func (d *draft) join(e perdure.Entry) {
	for _, s := range d.s.Signals {
		if s.EntryKey() == e.Key && s.ResponseID != "" && e.ResponseID != "" && s.ResponseID != e.ResponseID {
			d.c.Join = append(d.c.Join, store.Join{ID: s.ResponseID, Into: e.ResponseID})
		}
	}
}

// HideResponse hides a response from lookups by its id. Error: not_found.
func (e *Engine) HideResponse(ctx context.Context, org string, execution uuid.UUID, id string) error {
	_, err := e.one(ctx, store.Command{
		Name: "hide response", Lane: store.LaneCommits, Org: org, Execution: execution,
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Execution == nil {
				return nil, notFound(execution)
			}
			return &store.Changes{HideResponse: id, Answer: &decided{}}, nil
		},
	})
	return err
}

// EndResponse stores what the client of a response knows of the conversation up to the response's
// end. What is stored already is not replaced. Error: not_found.
func (e *Engine) EndResponse(ctx context.Context, org string, execution uuid.UUID, end store.ResponseEnd) error {
	_, err := e.one(ctx, store.Command{
		Name: "end response", Lane: store.LaneCommits, Org: org, Execution: execution,
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Execution == nil {
				return nil, notFound(execution)
			}
			return &store.Changes{EndResponse: &end, Answer: &decided{}}, nil
		},
	})
	return err
}

// CancelResponse cancels the execution if the response is its current one, including the first
// response of an execution that has not started. It reports whether it did. If the execution has
// passed the response, or has not reached it, nothing changes. Error: not_found.
func (e *Engine) CancelResponse(ctx context.Context, org string, execution uuid.UUID, id string) (bool, error) {
	d, err := e.one(ctx, store.Command{
		Name: "cancel response", Lane: store.LaneCommits, Org: org, Execution: execution,
		Needs: func(x *perdure.Execution) store.Needs { return endNeeds(x) },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Execution == nil {
				return nil, notFound(execution)
			}
			if !runs(s.Execution, id) {
				return answerOf(false), nil
			}
			return e.decideCancel(s)
		},
	})
	if err != nil {
		return false, err
	}
	accepted, _ := d.value.(bool)
	return accepted, nil
}

// runs reports whether the response is the execution's current one.
func runs(x *perdure.Execution, id string) bool { return x.ResponseID == id && !between(x) }

// idleAt reports whether the execution waits for its user, has no pending messages, and has this
// response as its last.
func idleAt(s *store.State, response string) bool {
	x := s.Execution
	return between(x) && len(s.Pending) == 0 && x.Leaf != nil && s.Entries[*x.Leaf].ResponseID == response
}

// openAt returns the ids of the calls that are open after an entry.
func (e *Engine) openAt(ctx context.Context, at perdure.EntryRef) ([]string, error) {
	var open []string
	for entry, err := range e.refs.Path(ctx, at.ExecutionID, at.EntryID, nil, 1000, true) {
		if err != nil {
			return nil, err
		}
		if entry.Role != perdure.RoleToolResult {
			open = slices.Clone(entry.Calls)
			continue
		}
		open = slices.DeleteFunc(open, func(id string) bool { return id == entry.Answers })
	}
	return open, nil
}

// checkFrom checks the place in another execution from which a new one continues, and returns the
// calls that are open there.
func (e *Engine) checkFrom(ctx context.Context, org string, from *perdure.EntryRef) ([]string, error) {
	if from == nil {
		return nil, nil
	}
	source, err := e.refs.Execution(ctx, org, from.ExecutionID)
	if err != nil {
		return nil, err
	}
	if source.PersistenceMode == perdure.Local {
		return nil, perdure.FieldErrorf("from", "execution %s is LOCAL: its conversation is on its worker", source.ID)
	}
	return e.openAt(ctx, *from)
}
