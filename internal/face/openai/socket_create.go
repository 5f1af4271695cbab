package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/fair"
)

// createFrame is the type of a frame that contains a create request, the only type that clients
// send.
const createFrame = "response.create"

// answer processes one frame of the client. If the request in the frame is refused or fails, answer
// sends the client an error, and the socket stays open. If answer returns an error, the socket
// ends.
func (k *socket) answer(ctx context.Context, f frame) error {
	done := fair.Compute(ctx)
	c, err := k.parse(f)
	done()
	if err == nil {
		err = k.admission.count()
	}
	if err == nil {
		err = k.create(ctx, c)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errNotSent), errors.Is(err, errStreamBroke):
		return err
	}
	k.chain.failed(c.previous)
	return k.refuse(ctx, k.errorOf(k.r, err))
}

// creation is a create request from a frame.
type creation struct {
	*request
	previous string // previous_response_id, set even if the frame is refused for another reason
	bytes    int
}

// parse parses the create request in a frame. The parameters of the request are members of the
// frame, like the frame's type.
func (k *socket) parse(f frame) (c creation, err error) {
	c.bytes, err = len(f.raw), f.refused
	if err != nil {
		return c, err
	}
	members, err := membersOf(f.raw)
	if err != nil {
		return c, err
	}
	var kind string
	if json.Unmarshal(members["type"], &kind) != nil || kind != createFrame {
		return c, invalid("type", "invalid_value", "Invalid 'type': a frame is {\"type\": \"response.create\", ...}, with the parameters of a create beside 'type'.")
	}
	_ = json.Unmarshal(members["previous_response_id"], &c.previous) // parseMembers refuses a value that is not a string
	if c.request, err = fromFrame(members); err == nil {
		err = k.chain.continues(&c)
	}
	return c, err
}

// fromFrame parses the parameters of a create request over a WebSocket. Every response over a
// WebSocket is streamed.
func fromFrame(members map[string]json.RawMessage) (*request, error) {
	generate := true
	if raw := members["generate"]; given(raw) {
		if err := decode(raw, "generate", &generate, "a boolean"); err != nil {
			return nil, err
		}
	}
	if err := notHere(members, !generate); err != nil {
		return nil, err
	}
	for _, own := range []string{"type", "generate", "stream_id"} {
		delete(members, own)
	}
	r, err := parseMembers(&request{warmUp: !generate}, members)
	if err == nil && r.verdicts != nil {
		err = unsupportedValue("input", "over a WebSocket no approval request can be answered, because the connection runs one response at a time. Send the items of type 'mcp_approval_response' with POST /v1/responses.")
	}
	if err == nil && given(members["stream"]) && !r.Stream {
		err = unsupportedValue("stream", "over a WebSocket every response is streamed; leave it out.")
	}
	return r, err
}

// notHere refuses parameters that have no meaning over a WebSocket, or that this server does not
// support there.
func notHere(members map[string]json.RawMessage, warmUp bool) error {
	_, nested := members["response"]
	switch {
	case nested:
		return invalid("response", "unknown_parameter", "Unknown parameter: 'response'; the parameters of a create stand beside 'type'.")
	case given(members["stream_id"]):
		return unsupported("stream_id", "a connection runs one response at a time; open another connection for another stream")
	case string(members["background"]) == "true":
		return unsupported("background", "over a WebSocket a response goes on without its client anyway, and can be read again if it is stored")
	case warmUp && given(members["conversation"]):
		return unsupported("conversation", "the input of a warm-up ('generate': false) is kept for the connection alone")
	}
	return nil
}

// create creates one response and streams its events to the client.
func (k *socket) create(ctx context.Context, c creation) error {
	if c.warmUp {
		return k.warm(ctx, c)
	}
	part, done := fair.Part(ctx)
	f, err := k.begin(part, k.org, c.request, idempotency{})
	done()
	if err != nil {
		return err
	}
	begun := false
	for step, err := range k.follow(ctx, f.fold) {
		switch {
		case err != nil && begun:
			return fmt.Errorf("%w: %w", errStreamBroke, err)
		case err != nil:
			return err
		}
		if err := k.sendEvents(ctx, step.events); err != nil {
			return err
		}
		begun = begun || len(step.events) > 0
	}
	k.chain.ended(c, f.fold)
	return nil
}

func (k *socket) sendEvents(ctx context.Context, events []Event) error {
	for _, e := range events {
		if err := k.send(ctx, e.Body); err != nil {
			return err
		}
	}
	return nil
}
