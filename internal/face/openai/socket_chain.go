package openai

import (
	"context"

	"github.com/perdure/perdure/internal/engine/conversations"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/response"
)

// chain holds the newest response of a connection if it is not stored. The next create on the same
// connection may continue from it; no other connection can.
type chain struct {
	id string
	// Only of a warm-up, which has no execution: the origin of its input, the input, and the bytes
	// of its frames.
	warm  bool
	from  origin
	items []readItem
	bytes int
}

// continues determines the origin of a create. A create that continues a warm-up begins with the
// warm-up's input.
func (n *chain) continues(c *creation) error {
	if c.previous == "" || c.previous != n.id {
		return nil
	}
	if !n.warm {
		c.from = &origin{id: n.id, local: true}
		return nil
	}
	if c.bytes += n.bytes; c.bytes > bodyLimit {
		return invalid("input", "string_above_max_length", "Invalid 'input': with that of the warm-ups before it, it is over 8 MiB.")
	}
	from := n.from
	c.from = &from
	c.items = append(append([]readItem{}, n.items...), c.items...)
	return nil
}

// ended updates the chain after a response. After a failed response, the chain forgets the response
// that the failed one continued.
func (n *chain) ended(c creation, f *fold) {
	switch {
	case f.status == statusFailed:
		n.failed(c.previous)
	case !c.stored():
		*n = chain{id: f.id()}
	}
}

// failed forgets the response that a create could not continue.
func (n *chain) failed(previous string) {
	if previous != "" && previous == n.id {
		*n = chain{}
	}
}

// warm checks a create whose input is kept for the next one, and sends a response without output.
// Only this connection knows the response.
func (k *socket) warm(ctx context.Context, c creation) error {
	part, done := fair.Part(ctx)
	_, err := k.prepare(part, k.org, c.request, idempotency{})
	done()
	if err != nil {
		return err
	}
	f := newFold(response.Identity{Response: conversations.NewResponseID()}, 0, *c.request, source{})
	f.created, f.status = k.Engine.Store.Now(), statusInProgress
	f.emitResponse("response.created")
	f.emitResponse("response.in_progress")
	f.completed, f.status = &f.created, statusCompleted
	f.emitResponse(terminal[f.status])
	if err := k.sendEvents(ctx, f.take()); err != nil {
		return err
	}
	k.chain = chain{id: f.id(), warm: true, from: c.origin(), items: c.items, bytes: c.bytes}
	return nil
}
