package engine

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// SignalRequest is a message into an execution. With an ID, sending it again
// changes nothing.
type SignalRequest struct {
	Name  string
	Value json.RawMessage
	// Ref is the id of content that was uploaded for the execution, in place of
	// Value. The server does not look into it.
	Ref *uuid.UUID
	ID  string
	// Head, if set, is the response that must be the last of the execution,
	// which waits for its user; else it is a conflict and nothing is stored.
	Head string
	// Response is set where a client asked for a response.
	Response *ResponseRequest
}

// SignalReply says under which id the signal is stored, and where the
// execution stands.
type SignalReply struct {
	SignalID string         `json:"signalId"`
	Status   perdure.Status `json:"status"`
	// ResponseID is the one that the signal was given.
	ResponseID string `json:"-"`
}

// Signal stores a signal, and wakes the execution if it waits for it. Errors:
// invalid_argument, not_found, execution_ended, payload_too_large, conflict
// (Head), rate_limited (the limits of the key that started the execution).
func (e *Engine) Signal(ctx context.Context, org string, id uuid.UUID, r SignalRequest) (SignalReply, error) {
	if err := e.checkSignal(&r); err != nil {
		return SignalReply{}, err
	}
	messages := messagesOf(r)
	response := NewResponseID()
	h := e.reserve(org, id)
	d, err := e.one(ctx, store.Command{
		Name: "signal", Lane: store.LaneCommits, Org: org, Execution: id, Bytes: len(r.Value),
		Needs: func(x *perdure.Execution) store.Needs {
			n := store.Needs{SignalIDs: []string{r.ID}, UseOf: limitedBy(x)}
			if x != nil && x.Leaf != nil && (r.Head != "" || messages != nil) {
				n.Entries, n.Patterns = []uuid.UUID{*x.Leaf}, []string{perdure.UserMessage}
			}
			if r.Ref != nil {
				n.Blobs = []uuid.UUID{*r.Ref}
			}
			h.needs(&n)
			return n
		},
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Execution == nil {
				return nil, notFound(id)
			}
			return e.decideSignal(s, r, messages, response, h)
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
	if r.Ref != nil && r.Value != nil {
		return perdure.FieldErrorf("signalValueRef", "stands in place of signalValue; give one of them")
	}
	if r.Ref != nil {
		return nil
	}
	if r.Value == nil {
		r.Value = json.RawMessage("null")
	}
	if err := e.checkSize("the signal's value", int64(len(r.Value))); err != nil {
		return err
	}
	if !json.Valid(r.Value) {
		return perdure.FieldErrorf("signalValue", "is not valid JSON")
	}
	if r.Name == perdure.UserMessage {
		return checkUserMessage(r.Value)
	}
	return nil
}

// UserMessageValue is the value of a userMessage signal: text, parts or
// messages.
type UserMessageValue struct {
	Text     *string                `json:"text,omitempty"`
	Parts    []perdure.Part         `json:"parts,omitempty"`
	Messages []perdure.InputMessage `json:"messages,omitempty"`
	// Settings are, for the response that the message begins, in place of those
	// in the execution's input.
	Settings *perdure.ReactInput `json:"settings,omitempty"`
}

// messagesOf gives the messages of a signal that holds some.
func messagesOf(r SignalRequest) []perdure.InputMessage {
	var v UserMessageValue
	if r.Name != perdure.UserMessage || json.Unmarshal(r.Value, &v) != nil {
		return nil
	}
	return v.Messages
}

func checkUserMessage(value json.RawMessage) error {
	var v UserMessageValue
	if err := json.Unmarshal(value, &v); err != nil || (v.Text == nil && len(v.Parts) == 0 && len(v.Messages) == 0) {
		return perdure.FieldErrorf("signalValue", `of a userMessage must be {"text": "..."}, {"parts": [...]} or {"messages": [...]}`)
	}
	if v.Text != nil && *v.Text == "" && len(v.Parts) == 0 {
		return perdure.FieldErrorf("signalValue.text", "is empty")
	}
	return checkUserParts("signalValue.parts", v.Parts)
}

// checkUserParts refuses what a user's message cannot hold, before it is in a
// conversation.
func checkUserParts(field string, parts []perdure.Part) error {
	return perdure.CheckParts(perdure.RoleUser, field, parts)
}

func (e *Engine) decideSignal(s *store.State, r SignalRequest, messages []perdure.InputMessage, response string, h *handover) (*store.Changes, error) {
	if known, ok := s.Signals[r.ID]; ok {
		return answerOf(SignalReply{r.ID, s.Execution.Status, known.ResponseID}), nil
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
	waited := d.x.WaitReason
	if d.wake(facts{signals: []string{r.Name}}, perdure.WokeSignal) {
		d.begins(d.c.Signals[0], waited)
		signal := d.c.Signals[0]
		h.take(e, d, &signal)
	}
	return d.done(SignalReply{r.ID, d.x.Status, response}), nil
}

// fits decides whether messages can be taken up: results of calls only where
// the execution waits for them.
func fits(s *store.State, messages []perdure.InputMessage) error {
	var open []string
	if x := s.Execution; x.Leaf != nil && between(x) {
		open = s.Entries[*x.Leaf].Open
	}
	return checkMessages("signalValue.messages", open, messages)
}

// uploaded takes content that a client uploaded into the command.
func (d *draft) uploaded(id *uuid.UUID) (*perdure.BlobRef, error) {
	if id == nil {
		return nil, nil
	}
	b, ok := d.s.Blobs[*id]
	if !ok || b.Held != b.Length {
		return nil, perdure.FieldErrorf("signalValueRef.blobId", "there is no whole content %s of this execution; upload it first (PUT .../content)", *id)
	}
	ref := &perdure.BlobRef{ID: b.ID, Length: b.Length, SHA256: b.SHA256}
	return ref, d.useBlob(ref)
}
