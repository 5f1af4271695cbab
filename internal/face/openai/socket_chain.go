package openai

import (
	"context"

	"github.com/perdure/perdure/internal/engine/conversations"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/response"
)

// chain is the newest of the responses that were created over one WebSocket and are not stored
// ("store": false). Only create requests over the same WebSocket can continue from it.
type chain struct {
	id string
	// The fields below are set only if the response is a warm-up (see the method `warm`), which has
	// no execution. The field `from` is the response from which the warm-up continues, `items` is
	// the warm-up's input, and `bytes` is the size of the input's frames.
	warm  bool
	from  origin
	items []readItem
	bytes int
}

// continues sets the origin of a create request. If the request continues from a warm-up, its input
// begins with the input of the warm-up.
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

// ended updates the chain after a response has ended. If the response is not stored, the chain is
// now that response. If the ended response failed, and had continued from the chain's response, the
// chain is cleared.
func (n *chain) ended(c creation, f *fold) {
	switch {
	case f.status == statusFailed:
		n.failed(c.previous)
	case !c.stored():
		*n = chain{id: f.id()}
	}
}

// failed clears the chain after a create request has failed, if the request continued from the
// chain's response. The parameter `previous` is the id of the response from which the request
// continued.
func (n *chain) failed(previous string) {
	if previous != "" && previous == n.id {
		*n = chain{}
	}
}

// warm handles a warm-up: it checks the create request, keeps its input for the next request, and
// sends a response without output. The response exists only on this WebSocket.
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
