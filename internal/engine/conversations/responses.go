package conversations

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// ResponseRequest is a client's request for a response, apart from its input.
type ResponseRequest = rules.ResponseRequest

// HideResponse hides a response from lookups by its id. Error: not_found.
func (c *Conversations) HideResponse(ctx context.Context, org string, execution uuid.UUID, id string) error {
	_, err := c.one(ctx, store.Command{
		Name: "hide response", Lane: store.LaneCommits, Org: org, Execution: execution,
		Decide: func(s *store.State) (*store.Changes, error) { return rules.HideResponse(s, execution, id) },
	})
	return err
}

// EndResponse stores the history of a response: hashes of the conversation up to the end of the
// response, in the form in which the client sends and receives the conversation. If a history is
// stored already, nothing changes. Error: not_found.
func (c *Conversations) EndResponse(ctx context.Context, org string, execution uuid.UUID, end store.ResponseEnd) error {
	_, err := c.one(ctx, store.Command{
		Name: "end response", Lane: store.LaneCommits, Org: org, Execution: execution,
		Decide: func(s *store.State) (*store.Changes, error) { return rules.EndResponse(s, execution, end) },
	})
	return err
}

// CancelResponse cancels the execution if the given response is the current one. It reports whether
// it cancelled the execution. Before the execution has started, its first response is the current
// one. Error: not_found.
func (c *Conversations) CancelResponse(ctx context.Context, org string, execution uuid.UUID, id string) (bool, error) {
	value, err := c.one(ctx, store.Command{
		Name: "cancel response", Lane: store.LaneCommits, Org: org, Execution: execution,
		Needs:  rules.EndNeeds,
		Decide: func(s *store.State) (*store.Changes, error) { return rules.CancelResponse(s, c.rules(), execution, id) },
	})
	if err != nil {
		return false, err
	}
	accepted, _ := value.(bool)
	return accepted, nil
}

// openAt returns the ids of the open tool calls at the given entry: those without a result in the
// conversation up to that entry.
func (c *Conversations) openAt(ctx context.Context, at perdure.EntryRef) ([]string, error) {
	var open []string
	for entry, err := range c.refs.Path(ctx, at.ExecutionID, at.EntryID, nil, 1000, true) {
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

// CheckFrom checks the entry of another execution after which a new execution is to continue. It
// returns the ids of the tool calls without a result at that entry. Errors: not_found,
// invalid_argument (the other execution is LOCAL).
func (c *Conversations) CheckFrom(ctx context.Context, org string, from *perdure.EntryRef) ([]string, error) {
	if from == nil {
		return nil, nil
	}
	source, err := c.refs.Execution(ctx, org, from.ExecutionID)
	if err != nil {
		return nil, err
	}
	if source.PersistenceMode == perdure.Local {
		return nil, perdure.FieldErrorf("from", "execution %s is LOCAL: its conversation is on its worker", source.ID)
	}
	return c.openAt(ctx, *from)
}
