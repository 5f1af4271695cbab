package engine

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// endNeeds returns the state that is needed to decide the end of an execution.
func endNeeds(x *perdure.Execution) store.Needs {
	needs := store.Needs{OpenTasks: true, OpenBlocks: true, Taken: true, CallNames: true, Blobs: inputBlobs(x)}
	if x != nil && x.Leaf != nil {
		needs.Entries = []uuid.UUID{*x.Leaf}
	}
	return needs
}

// Cancel ends a PENDING or WAITING execution at once. A RUNNING one becomes CANCELLING: its worker
// has CancelGrace to end it, and none of its tasks is started any more. Cancel reports whether it
// accepted the request; an execution that has ended stays as it is. Large contents of the returned
// execution are references.
func (e *Engine) Cancel(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, bool, error) {
	d, err := e.one(ctx, store.Command{
		Name: "cancel", Lane: store.LaneCommits, Org: org, Execution: id, Needs: endNeeds,
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Execution == nil {
				return nil, notFound(id)
			}
			return e.decideCancel(s)
		},
	})
	if err != nil {
		return nil, false, err
	}
	x, err := e.refs.Execution(ctx, org, id)
	accepted, _ := d.value.(bool)
	return x, accepted, err
}

// notBegun is the error of a task that is cancelled with its execution before an attempt has begun,
// or before the next attempt. Its result is not needed, so its cost is avoided.
const notBegun = "cancelled: the execution is being cancelled"

func (e *Engine) decideCancel(s *store.State) (*store.Changes, error) {
	d := begin(s)
	switch {
	case d.x.Status.Terminal():
		return nil, nil
	case d.x.Status == perdure.StatusCancelling:
		return answerOf(true), nil
	case d.x.Status == perdure.StatusRunning:
		d.x.Status = perdure.StatusCancelling
		d.x.CancelBy = s.Now.Add(e.CancelGrace)
		d.event(perdure.EventCancelling, d.here(), map[string]any{"status": d.x.Status})
		for _, t := range sortedTasks(s.Tasks) {
			if t.Status == perdure.TaskPending {
				d.cancelTask(t, notBegun)
			}
		}
		return d.done(true), nil
	}
	if err := d.end(ending{status: perdure.StatusCancelled}); err != nil {
		return nil, err
	}
	return d.done(true), nil
}
