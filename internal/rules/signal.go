package rules

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// SignalReply is the reply to a signal: the id under which the signal is stored, and the
// execution's status.
type SignalReply struct {
	SignalID string         `json:"signalId"`
	Status   perdure.Status `json:"status"`
	// Unexpected reports whether workers have registered signals for the execution's kind, but no
	// signal with this name.
	Unexpected bool `json:"unexpected,omitempty"`
	// Stopped is set in the reply to an interrupt. It reports whether there was a turn to stop.
	Stopped *bool `json:"stopped,omitempty"`
	// ResponseID is the id of the response that the signal begins.
	ResponseID string `json:"-"`
}

// ClientRequest contains what a client's start or signal has besides its input.
type ClientRequest struct {
	// Response is set if a client of the Responses API has asked for a response. ResponseID is the
	// id of the response that the request begins.
	Response   *ResponseRequest
	ResponseID string
	// IdempotencyKey, if set, identifies the request for 24 hours. RequestHash is the hash of the
	// whole request; a request with the same key and another hash is refused.
	IdempotencyKey string
	RequestHash    perdure.Hash
	// Conversation, if set, is the conversation whose next response the request begins.
	// NextResponse is the id of the response after that one.
	Conversation *ConversationTurn
	NextResponse string
}

// remember stores the request's idempotency key, if the request has one, with the id of the
// execution.
func (r ClientRequest) remember(d *draft) {
	if r.IdempotencyKey == "" {
		return
	}
	d.c.Idempotency = &store.Idempotency{
		Key: r.IdempotencyKey, RequestHash: r.RequestHash, Execution: d.x.ID, ExpiresAt: d.s.Now.Add(idempotencyTTL),
	}
}

// NewSignal is a signal to store.
type NewSignal struct {
	ClientRequest
	ID, Name string
	Value    json.RawMessage
	// KeyID is the API key of the sender; nil for the token of the data directory.
	KeyID *uuid.UUID
	// Ref, if set, is the id of an uploaded content that is the signal's value in place of Value.
	// Checked reports whether the engine has found the content valid.
	Ref     *uuid.UUID
	Checked bool
	// Messages are the messages that Value contains for the react agent.
	Messages []perdure.InputMessage
	// Head, if set, is a response id. The signal is then refused unless the execution waits for its
	// user after this response.
	Head     string
	Handover *Handover // nil if no open poll can take the execution
	// Misfit, if set, is the error of a value that fits none of the signal's schemas. The signal is
	// then refused, unless it is stored already.
	Misfit error
	// Unexpected reports whether workers have registered signals for the execution's kind, but no
	// signal with this name.
	Unexpected bool
}

func (r NewSignal) reply(status perdure.Status, response string) SignalReply {
	reply := SignalReply{SignalID: r.ID, Status: status, Unexpected: r.Unexpected, ResponseID: response}
	if r.Name == perdure.InterruptSignal {
		stopped := true
		reply.Stopped = &stopped
	}
	return reply
}

// SignalNeeds says which rows the engine must read into the store.State that it passes to Signal.
func SignalNeeds(x *perdure.Execution, r NewSignal) store.Needs {
	n := store.Needs{SignalIDs: []string{r.ID}, UseOf: limitedBy(x), Idempotency: r.IdempotencyKey}
	if x != nil && x.Leaf != nil && (r.Head != "" || r.Messages != nil) {
		n.Entries, n.Patterns = []uuid.UUID{*x.Leaf}, []string{perdure.UserMessage}
	}
	if r.Ref != nil {
		n.Blobs = []uuid.UUID{*r.Ref}
	}
	if r.Name == perdure.InterruptSignal {
		n.Patterns = append(n.Patterns, r.Name)
	}
	r.Conversation.needs(&n)
	r.Handover.needs(&n)
	return n
}

// Signal stores a signal, and wakes the execution if the signal meets the execution's wait. The
// command's result is a SignalReply. Errors: not_found, execution_ended, conflict,
// rate_limited, idempotency_key_reused, invalid_argument.
func Signal(s *store.State, cfg Config, id uuid.UUID, r NewSignal) (*store.Changes, error) {
	if s.Execution == nil {
		return nil, noExecution(id)
	}
	if known, ok := s.Signals[r.ID]; ok {
		return Answer(r.reply(s.Execution.Status, known.ResponseID)), nil
	}
	if r.Name == perdure.InterruptSignal {
		if reply := interruptDone(s, r); reply != nil {
			return Answer(*reply), nil
		}
	}
	if err := r.check(s); err != nil {
		return nil, err
	}
	d := begin(s)
	d.cfg = cfg
	if r.Ref != nil && !r.Checked {
		return nil, noContent(*r.Ref)
	}
	ref, err := d.uploaded(r.Ref)
	if err != nil {
		return nil, err
	}
	d.x.NextSignal++
	d.c.Signals = []perdure.Signal{{
		ID: r.ID, Name: r.Name, Value: r.Value, Blob: ref, State: perdure.SignalPending,
		ResponseID: r.ResponseID, CreatedAt: s.Now, Order: d.x.NextSignal, KeyID: r.KeyID,
	}}
	members := map[string]any{"signalId": r.ID, "signalName": r.Name}
	if ref == nil && len(r.Value) <= perdure.InlineLimit && !d.local() {
		members["signalValue"] = r.Value
	}
	d.event(perdure.EventSignal, perdure.Place{ResponseID: r.ResponseID}, members)
	if r.Name == perdure.UserMessage {
		d.c.Responses = []store.Response{r.Response.row(d, r.ResponseID, r.ID)}
	}
	r.remember(d)
	if err := r.Conversation.begin(d, nil, r.NextResponse); err != nil {
		return nil, err
	}
	waited := d.x.WaitReason
	if d.wake(facts{signals: []string{r.Name}}, perdure.WakeSignal) {
		d.begins(d.c.Signals[0], waited)
		signal := d.c.Signals[0]
		d.handOver(r.Handover, &signal)
	}
	return d.done(r.reply(d.x.Status, r.ResponseID)), nil
}

// check checks the signal. Errors: as for Signal.
func (r NewSignal) check(s *store.State) error {
	if err := r.unused(s.Idempotency); err != nil {
		return err
	}
	if r.Misfit != nil {
		return r.Misfit
	}
	if s.Execution.Status.Terminal() {
		return perdure.Errorf(perdure.ExecutionEnded, "execution %s is %s and takes no more signals", s.Execution.ID, s.Execution.Status)
	}
	if r.Head != "" && !idleAt(s, r.Head) {
		return perdure.Errorf(perdure.Conflict, "execution %s is not idle at response %s", s.Execution.ID, r.Head)
	}
	if err := checkMessages(s, r.Messages); err != nil {
		return err
	}
	if r.Name == perdure.InterruptSignal {
		return nil // at most one interrupt is pending, and it must work even over the limits
	}
	return roomToSignal(s, r)
}

// unused returns an error if the signal's idempotency key is in use. It is called for a signal that
// is not stored, so the key belongs to a different request. Errors: idempotency_key_reused,
// conflict.
func (r NewSignal) unused(known *store.Idempotency) error {
	switch {
	case known == nil:
		return nil
	case known.RequestHash != r.RequestHash:
		return KeyReused(r.IdempotencyKey)
	default:
		return perdure.Errorf(perdure.Conflict, "the Idempotency-Key %q has just been used", r.IdempotencyKey)
	}
}

// checkMessages checks the messages of a signal. It accepts results of tool calls only if the
// execution waits for its user and these calls are open.
func checkMessages(s *store.State, messages []perdure.InputMessage) error {
	var open []string
	if x := s.Execution; x.Leaf != nil && between(x) {
		open = s.Entries[*x.Leaf].Open
	}
	return perdure.CheckMessages("signalValue.messages", open, messages)
}
