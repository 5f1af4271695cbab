package engine

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// ResponseRequest is what a client that asks for a response asks for besides
// its input.
type ResponseRequest struct {
	// Request is kept with the response, as it is.
	Request json.RawMessage
	// Hidden responses are not found by their id.
	Hidden bool
}

// row makes the row of a response whose input's event was recorded last.
func (r *ResponseRequest) row(d *draft, id, signal string) store.Response {
	row := store.Response{ID: id, Execution: d.x.ID, SignalID: signal, FirstPos: d.s.Head.LastPos, CreatedAt: d.s.Now}
	if r != nil {
		row.Request, row.Hidden = r.Request, r.Hidden
	}
	return row
}

// join notes that the input of an entry was given another response's id than
// the one that took it up.
func (d *draft) join(e perdure.Entry) {
	for _, s := range d.s.Signals {
		if s.EntryKey() == e.Key && s.ResponseID != "" && e.ResponseID != "" && s.ResponseID != e.ResponseID {
			d.c.Join = append(d.c.Join, store.Join{ID: s.ResponseID, Into: e.ResponseID})
		}
	}
}

// HideResponse lets a response not be found by its id any more. Errors:
// not_found.
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

// EndResponse notes what the client of a response knows of the conversation up to its
// end. What is noted already stays. Errors: not_found.
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

// CancelResponse cancels the execution if the response is the one that runs, or
// that it begins with. It reports whether it did; where the execution is past the
// response or has not come to it, nothing changes. Errors: not_found.
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

// runs reports whether a response is the one that the execution is at.
func runs(x *perdure.Execution, id string) bool { return x.ResponseID == id && !between(x) }

// idleAt reports whether the execution waits for its user with nothing to read,
// and that response is the last.
func idleAt(s *store.State, response string) bool {
	x := s.Execution
	return between(x) && len(s.Pending) == 0 && x.Leaf != nil && s.Entries[*x.Leaf].ResponseID == response
}

// openAt returns the calls that stand open after an entry.
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

// checkFrom checks the place in another execution that a new one continues from,
// and returns the calls that are open there.
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
