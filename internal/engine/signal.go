package engine

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// SignalRequest is a message to an execution. A repeat with the same ID changes nothing.
type SignalRequest struct {
	Name  string
	Value json.RawMessage
	// Ref is the id of a content that was uploaded for the execution and replaces Value. It is
	// checked by the same rules as Value.
	Ref *uuid.UUID
	// Turn, if set, replaces Value. Clients cannot send it.
	Turn *Turn
	ID   string
	// Head, if set, must be the last response of the execution, which must wait for its user.
	// Otherwise the signal is a conflict and is not stored.
	Head string
	// Response is set if a client asked for a response.
	Response *ResponseRequest
	// IdempotencyKey, if set, names the execution for 24 hours, together with RequestHash, the hash
	// of the whole request. Starts and signals of an org share one set of keys.
	IdempotencyKey string
	RequestHash    perdure.Hash
	// Conversation, if set, is the conversation whose next response the signal begins.
	Conversation *ConversationTurn
}

// SignalReply is the id under which the signal is stored, and the execution's status.
type SignalReply struct {
	SignalID string         `json:"signalId"`
	Status   perdure.Status `json:"status"`
	// ResponseID is the response id that the signal has.
	ResponseID string `json:"-"`
}

// Signal stores a signal, and wakes the execution if it waits for it. Errors: invalid_argument,
// not_found, execution_ended, payload_too_large, conflict (Head, or an idempotency key that another
// request has just used), rate_limited (the limits of the key that started the execution),
// idempotency_key_reused.
func (e *Engine) Signal(ctx context.Context, org string, id uuid.UUID, r SignalRequest) (SignalReply, error) {
	if err := e.checkSignal(&r); err != nil {
		return SignalReply{}, err
	}
	checked, err := e.checkReferenced(ctx, org, id, r)
	if err != nil {
		return SignalReply{}, err
	}
	var messages []perdure.InputMessage
	if r.Turn != nil {
		messages = r.Turn.Messages
	}
	response := r.Conversation.response()
	h := e.reserve(ctx, org, id)
	d, err := e.one(ctx, store.Command{
		Name: "signal", Lane: store.LaneCommits, Org: org, Execution: id, Bytes: len(r.Value),
		Needs: func(x *perdure.Execution) store.Needs {
			n := store.Needs{SignalIDs: []string{r.ID}, UseOf: limitedBy(x), Idempotency: r.IdempotencyKey}
			if x != nil && x.Leaf != nil && (r.Head != "" || messages != nil) {
				n.Entries, n.Patterns = []uuid.UUID{*x.Leaf}, []string{perdure.UserMessage}
			}
			if r.Ref != nil {
				n.Blobs = []uuid.UUID{*r.Ref}
			}
			r.Conversation.needs(&n)
			h.needs(&n)
			return n
		},
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Execution == nil {
				return nil, notFound(id)
			}
			return e.decideSignal(s, r, checked, messages, response, h)
		},
	})
	e.settle(ctx, h, d.woken)
	if err != nil {
		return SignalReply{}, err
	}
	return d.value.(SignalReply), nil
}

func (e *Engine) checkSignal(r *SignalRequest) error {
	if err := perdure.CheckName(r.Name); err != nil {
		return err
	}
	if err := perdure.CheckText("signalId", r.ID); err != nil {
		return err
	}
	if len(r.ID) > maxName {
		return perdure.FieldErrorf("signalId", "has over %d characters", maxName)
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

func (e *Engine) decideSignal(s *store.State, r SignalRequest, checked bool, messages []perdure.InputMessage, response string, h *handover) (*store.Changes, error) {
	if known, ok := s.Signals[r.ID]; ok {
		return answerOf(SignalReply{r.ID, s.Execution.Status, known.ResponseID}), nil
	}
	if err := r.unused(s.Idempotency); err != nil {
		return nil, err
	}
	if s.Execution.Status.Terminal() {
		return nil, perdure.Errorf(perdure.ExecutionEnded, "execution %s is %s and takes no more signals", s.Execution.ID, s.Execution.Status)
	}
	if r.Head != "" && !idleAt(s, r.Head) {
		return nil, perdure.Errorf(perdure.Conflict, "execution %s is not idle at response %s", s.Execution.ID, r.Head)
	}
	if err := fits(s, messages); err != nil {
		return nil, err
	}
	if err := roomToSignal(s, r); err != nil {
		return nil, err
	}
	d := begin(s)
	if r.Ref != nil && !checked {
		return nil, noContent(*r.Ref)
	}
	ref, err := d.uploaded(r.Ref)
	if err != nil {
		return nil, err
	}
	d.x.NextSignal++
	d.c.Signals = []perdure.Signal{{
		ID: r.ID, Name: r.Name, Value: r.Value, Blob: ref, State: perdure.SignalPending,
		ResponseID: response, CreatedAt: s.Now, Order: d.x.NextSignal,
	}}
	members := map[string]any{"signalId": r.ID, "signalName": r.Name}
	if ref == nil && len(r.Value) <= perdure.InlineLimit && !d.local() {
		members["signalValue"] = r.Value
	}
	d.event(perdure.EventSignal, perdure.Place{ResponseID: response}, members)
	if r.Name == perdure.UserMessage {
		d.c.Responses = []store.Response{r.Response.row(d, response, r.ID)}
	}
	if r.IdempotencyKey != "" {
		d.c.Idempotency = &store.Idempotency{
			Key: r.IdempotencyKey, RequestHash: r.RequestHash, Execution: d.x.ID, ExpiresAt: s.Now.Add(idempotencyTTL),
		}
	}
	if err := r.Conversation.begin(d, nil); err != nil {
		return nil, err
	}
	waited := d.x.WaitReason
	if d.wake(facts{signals: []string{r.Name}}, perdure.WokeSignal) {
		d.begins(d.c.Signals[0], waited)
		signal := d.c.Signals[0]
		h.take(e, d, &signal)
	}
	return d.done(SignalReply{r.ID, d.x.Status, response}), nil
}

// unused returns an error if the signal's idempotency key is in use. The signal with which it was
// used is not in this execution; otherwise the caller would have found it. Errors:
// idempotency_key_reused, conflict.
func (r SignalRequest) unused(known *store.Idempotency) error {
	switch {
	case known == nil:
		return nil
	case known.RequestHash != r.RequestHash:
		return keyReused(r.IdempotencyKey)
	default:
		return perdure.Errorf(perdure.Conflict, "the Idempotency-Key %q has just been used", r.IdempotencyKey)
	}
}

// fits checks messages: results of calls are accepted only if the execution waits for them.
func fits(s *store.State, messages []perdure.InputMessage) error {
	var open []string
	if x := s.Execution; x.Leaf != nil && between(x) {
		open = s.Entries[*x.Leaf].Open
	}
	return perdure.CheckMessages("signalValue.messages", open, messages)
}

// uploaded takes content that a client uploaded into the command. Error: invalid_argument, if the
// upload is incomplete.
func (d *draft) uploaded(id *uuid.UUID) (*perdure.BlobRef, error) {
	if id == nil {
		return nil, nil
	}
	b, ok := d.s.Blobs[*id]
	if !ok || b.Held != b.Length {
		return nil, noContent(*id)
	}
	ref := &perdure.BlobRef{ID: b.ID, Length: b.Length, SHA256: b.SHA256}
	return ref, d.useBlob(ref)
}

func noContent(id uuid.UUID) error {
	return perdure.FieldErrorf("signalValueRef.blobId", "there is no whole content %s of this execution; upload it first (PUT .../content)", id)
}
