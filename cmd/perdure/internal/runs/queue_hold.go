package runs

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// holdWithin is the time in which the server must say how a queue stands.
const holdWithin = 5 * time.Second

// queueHold returns why a PENDING run is not taken, and what changes that: its queue is paused, or no
// worker serves it. It returns "" if neither is so, or if the server does not say.
func queueHold(ctx context.Context, a *setup.App, c *client.Client, x *perdure.Execution) string {
	if x.Status != perdure.StatusPending || x.Away != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, holdWithin)
	defer cancel()
	q, err := findQueue(ctx, c, x.Queue)
	name := terminal.Inline(x.Queue)
	switch {
	case err != nil:
		return ""
	case q != nil && q.Paused:
		return "the queue " + name + " is paused; perdure queues resume " + name + a.ServerFlags + " gives out its work again"
	case q == nil || !q.Served:
		return "no worker serves the queue " + name + "; perdure worker --queues " + name + " starts one"
	}
	return ""
}

// findQueue returns the queue with a name; nil if the server lists none.
func findQueue(ctx context.Context, c *client.Client, name string) (*perdure.QueueInfo, error) {
	for q, err := range c.Queues(ctx) {
		if err != nil || q.Name == name {
			return q, err
		}
	}
	return nil, nil
}
