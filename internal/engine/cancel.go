package engine

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// Cancel ends a PENDING or WAITING execution at once. A RUNNING one becomes CANCELLING: the worker
// must end the execution within CancelGrace, and pending tasks do not start. Cancel reports whether
// it accepted the request; an execution that has ended does not change. Large contents of the
// returned execution are references.
func (e *Engine) Cancel(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, bool, error) {
	d, err := e.one(ctx, store.Command{
		Name: "cancel", Lane: store.LaneCommits, Org: org, Execution: id, Needs: rules.EndNeeds,
		Decide: func(s *store.State) (*store.Changes, error) { return rules.Cancel(s, e.rules(), id) },
	})
	if err != nil {
		return nil, false, err
	}
	x, err := e.refs.Execution(ctx, org, id)
	accepted, _ := d.Value.(bool)
	return x, accepted, err
}
