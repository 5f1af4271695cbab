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
	ID    string
}

// SignalReply says under which id the signal is stored, and where the
// execution stands.
type SignalReply struct {
	SignalID string         `json:"signalId"`
	Status   perdure.Status `json:"status"`
}

// Signal stores a signal, and wakes the execution if it waits for it. Errors:
// invalid_argument, not_found, execution_ended, payload_too_large.
func (e *Engine) Signal(ctx context.Context, org string, id uuid.UUID, r SignalRequest) (SignalReply, error) {
	if err := e.checkSignal(&r); err != nil {
		return SignalReply{}, err
	}
	response := NewResponseID()
	d, err := e.one(ctx, store.Command{
		Name: "signal", Lane: store.LaneCommits, Org: org, Execution: id, Bytes: len(r.Value),
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{SignalIDs: []string{r.ID}} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Execution == nil {
				return nil, notFound(id)
			}
			return decideSignal(s, r, response)
		},
	})
	if err != nil {
		return SignalReply{}, err
	}
	return d.value.(SignalReply), nil
}

func (e *Engine) checkSignal(r *SignalRequest) error {
	if err := perdure.CheckName(r.Name); err != nil {
		return err
	}
	if len(r.ID) > maxName {
		return perdure.FieldErrorf("signalId", "has over %d characters", maxName)
	}
	if r.ID == "" {
		r.ID = uuid.Must(uuid.NewV7()).String()
	}
	if r.Value == nil {
		r.Value = json.RawMessage("null")
	}
	if !json.Valid(r.Value) {
		return perdure.FieldErrorf("signalValue", "is not valid JSON")
	}
	if int64(len(r.Value)) > e.PayloadLimit {
		return perdure.Errorf(perdure.PayloadTooLarge, "the signal's value has %d bytes; the limit is %d", len(r.Value), e.PayloadLimit)
	}
	if r.Name == perdure.UserMessage {
		return checkUserMessage(r.Value)
	}
	return nil
}

// UserMessageValue is the value of a userMessage signal: text or parts.
type UserMessageValue struct {
	Text  *string        `json:"text"`
	Parts []perdure.Part `json:"parts"`
}

func checkUserMessage(value json.RawMessage) error {
	var v UserMessageValue
	if err := json.Unmarshal(value, &v); err != nil || (v.Text == nil && len(v.Parts) == 0) {
		return perdure.FieldErrorf("signalValue", `of a userMessage must be {"text": "..."} or {"parts": [...]}`)
	}
	if v.Text != nil && *v.Text == "" && len(v.Parts) == 0 {
		return perdure.FieldErrorf("signalValue.text", "is empty")
	}
	for _, p := range v.Parts {
		if p.Type != perdure.PartText && p.Type != perdure.PartImage {
			return perdure.FieldErrorf("signalValue.parts", "a user's part is text or image, not %q", p.Type)
		}
	}
	return nil
}

func decideSignal(s *store.State, r SignalRequest, response string) (*store.Changes, error) {
	if _, known := s.Signals[r.ID]; known {
		return answerOf(SignalReply{r.ID, s.Execution.Status}), nil
	}
	if s.Execution.Status.Terminal() {
		return nil, perdure.Errorf(perdure.ExecutionEnded, "execution %s is %s and takes no more signals", s.Execution.ID, s.Execution.Status)
	}
	d := begin(s)
	d.x.NextSignal++
	d.c.Signals = []perdure.Signal{{
		ID: r.ID, Name: r.Name, Value: r.Value, State: perdure.SignalPending,
		ResponseID: response, CreatedAt: s.Now, Order: d.x.NextSignal,
	}}
	members := map[string]any{"signalId": r.ID, "signalName": r.Name}
	if len(r.Value) <= perdure.InlineLimit && !d.local() {
		members["signalValue"] = r.Value
	}
	d.event(perdure.EventSignal, perdure.Place{ResponseID: response}, members)
	d.wake(facts{signals: []string{r.Name}}, perdure.WokeSignal)
	return d.done(SignalReply{r.ID, d.x.Status}), nil
}
