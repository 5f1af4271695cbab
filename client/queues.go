package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/perdure/perdure"
)

// Workers returns the workers of the org that the servers had contact with in the last hour, ordered by
// id.
func (c *Client) Workers(ctx context.Context) iter.Seq2[*perdure.WorkerInfo, error] {
	return pages(func(o PageOptions) (Page[*perdure.WorkerInfo], error) {
		return c.WorkersPage(ctx, o)
	})
}

// WorkersPage returns one page of the list that Workers returns.
func (c *Client) WorkersPage(ctx context.Context, o PageOptions) (Page[*perdure.WorkerInfo], error) {
	return page[*perdure.WorkerInfo](ctx, c, o.query(), "workers")
}

// Queues returns the queues of the org, ordered by name: queues with work, queues from which
// connected workers take work, and paused queues.
func (c *Client) Queues(ctx context.Context) iter.Seq2[*perdure.QueueInfo, error] {
	return pages(func(o PageOptions) (Page[*perdure.QueueInfo], error) {
		return c.QueuesPage(ctx, o)
	})
}

// QueuesPage returns one page of the list that Queues returns.
func (c *Client) QueuesPage(ctx context.Context, o PageOptions) (Page[*perdure.QueueInfo], error) {
	return page[*perdure.QueueInfo](ctx, c, o.query(), "queues")
}

type queueBody struct {
	Queue string `json:"queue"`
}

// PauseQueue pauses a queue, which need not have work yet. After that, no worker claims executions
// and tasks of the queue. Those that are running continue. Pausing a paused queue has no effect.
// PauseQueue requires the role admin. Errors: invalid_argument, conflict (too many paused queues),
// permission_denied.
func (c *Client) PauseQueue(ctx context.Context, queue string) (*perdure.QueuePause, error) {
	var p perdure.QueuePause
	err := c.call(ctx, request{method: http.MethodPost, path: []string{"queues", "pause"}, body: queueBody{queue}}, &p)
	return orNil(&p, err)
}

// ResumeQueue ends the pause of a queue. For a queue that is not paused, it has no effect.
// ResumeQueue requires the role admin. Errors: invalid_argument, permission_denied.
func (c *Client) ResumeQueue(ctx context.Context, queue string) error {
	return c.call(ctx, request{method: http.MethodPost, path: []string{"queues", "resume"}, body: queueBody{queue}}, nil)
}
