package engine

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/board"
	"github.com/perdure/perdure/internal/engine/conversations"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// SignalRequest is a request to send a signal to an execution. A repeat with the same ID changes
// nothing.
type SignalRequest struct {
	Name  string
	Value json.RawMessage
	// Ref is the id of a content that was uploaded for the execution. It replaces Value, and the
	// content must obey the rules of Value.
	Ref *uuid.UUID
	// Turn, if set, replaces Value. Only the Responses endpoint sets it.
	Turn *Turn
	ID   string
	// Head, if set, is a condition: it must be the id of the execution's last response, and the
	// execution must wait for its user. Otherwise the signal is not stored, and the error is
	// conflict.
	Head string
	// Response is set if a client of the Responses API requested a response.
	Response *rules.ResponseRequest
	// IdempotencyKey, if set, identifies the request for 24 hours. RequestHash is the hash of the
	// whole request: another request with the same key is refused. Starts and signals of an org
	// share one set of keys.
	IdempotencyKey string
	RequestHash    perdure.Hash
	// Conversation, if set, is the conversation in which the signal begins the next response.
	Conversation *rules.ConversationTurn
}

// SignalReply is the id under which the signal is stored, and the execution's status.
type SignalReply = rules.SignalReply

// Signal stores a signal, and wakes the execution if the signal meets the execution's wait. Errors:
// invalid_argument, not_found, execution_ended, payload_too_large, conflict (r.Head names another
// response than the conversation's last one, or a concurrent request has the same idempotency key),
// rate_limited (the limits of the key that started the execution), idempotency_key_reused (an earlier
// request with another content has the same idempotency key).
func (e *Engine) Signal(ctx context.Context, org string, id uuid.UUID, r SignalRequest) (SignalReply, error) {
	if err := e.checkSignal(&r); err != nil {
		return SignalReply{}, err
	}
	if r.Name == perdure.InterruptSignal {
		if err := e.Kinds.CheckTurns(ctx, org, id); err != nil {
			return SignalReply{}, err
		}
	}
	known, err := e.Kinds.Signal(ctx, org, id, r.Name)
	if err != nil {
		return SignalReply{}, err
	}
	seen, err := e.checkValue(ctx, org, id, r, known)
	if err != nil {
		return SignalReply{}, err
	}
	h := e.reserve(ctx, org, id)
	n := newSignal(r, seen, h)
	n.Unexpected = known.Unexpected
	n.KeyID = store.KeyOf(ctx)
	d, err := e.one(ctx, store.Command{
		Name: "signal", Lane: store.LaneCommits, Org: org, Execution: id, Bytes: len(r.Value),
		Needs:  func(x *perdure.Execution) store.Needs { return rules.SignalNeeds(x, n) },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.Signal(s, e.rules(), id, n) },
	})
	e.settle(ctx, h, d.Woken)
	if err != nil {
		return SignalReply{}, err
	}
	return d.Value.(SignalReply), nil
}

func newSignal(r SignalRequest, seen checkedValue, h *board.Slot) rules.NewSignal {
	n := rules.NewSignal{
		ClientRequest: clientRequest(r.Response, r.Conversation, r.IdempotencyKey, r.RequestHash),
		ID:            r.ID, Name: r.Name, Value: r.Value, Ref: r.Ref, Checked: seen.whole, Misfit: seen.misfit, Head: r.Head, Handover: h.Decision(),
	}
	if r.Turn != nil {
		n.Messages = r.Turn.Messages
	}
	return n
}

// clientRequest returns the fields that the commands of starts and signals have in common. If the
// parameter `t` is set, the response gets the id that its conversation has reserved. Otherwise the
// response gets a new id.
func clientRequest(r *rules.ResponseRequest, t *rules.ConversationTurn, key string, hash perdure.Hash) rules.ClientRequest {
	c := rules.ClientRequest{Response: r, ResponseID: conversations.ResponseOf(t), Conversation: t, IdempotencyKey: key, RequestHash: hash}
	if t != nil {
		c.NextResponse = conversations.NewResponseID()
	}
	return c
}

func (e *Engine) checkSignal(r *SignalRequest) error {
	if err := perdure.CheckName(r.Name); err != nil {
		return err
	}
	if err := perdure.CheckText("signalId", r.ID); err != nil {
		return err
	}
	if len(r.ID) > validate.MaxName {
		return perdure.FieldErrorf("signalId", "has over %d characters", validate.MaxName)
	}
	if r.ID == "" {
		r.ID = uuid.Must(uuid.NewV7()).String()
	}
	switch {
	case r.Ref != nil && r.Value != nil:
		return perdure.FieldErrorf("signalValueRef", "stands in place of signalValue; give one of them")
	case r.Ref != nil:
		return nil // checked by checkReferenced
	case r.Turn != nil:
		return e.encodeTurn(r)
	case r.Value == nil:
		r.Value = json.RawMessage("null")
	}
	return e.checkSignalValue(r.Name, r.Value)
}
