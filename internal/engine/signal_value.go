package engine

import (
	"context"
	"encoding/json"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Turn is what the Responses endpoint gives an execution of the react agent: messages
// of any role, and the settings of the response that they begin. It is stored as the
// value of a userMessage; the check of public values refuses its members.
type Turn struct {
	Messages []perdure.InputMessage `json:"messages"`
	// Settings are in place of those in the execution's input; nil leaves them.
	Settings *perdure.ReactInput `json:"settings,omitempty"`
}

// UserMessageValue is what the value of a stored userMessage may hold: what the
// user says, or a Turn.
type UserMessageValue struct {
	Text  *string        `json:"text,omitempty"`
	Parts []perdure.Part `json:"parts,omitempty"`
	Turn
}

// encodeTurn makes the value of a turn.
func (e *Engine) encodeTurn(r *SignalRequest) error {
	if r.Name != perdure.UserMessage || r.Value != nil {
		return perdure.FieldErrorf("turn", "stands in place of the value of a %s", perdure.UserMessage)
	}
	if len(r.Turn.Messages) == 0 {
		return perdure.FieldErrorf("messages", "are none")
	}
	if s := r.Turn.Settings; s != nil && len(s.Models) == 0 {
		return perdure.FieldErrorf("settings.models", "must name at least one model")
	}
	var err error
	if r.Value, err = json.Marshal(r.Turn); err != nil {
		return perdure.FieldErrorf("messages", "do not encode: %v", err)
	}
	return e.checkSize("the input", int64(len(r.Value)))
}

// checkSignalValue is the check of every value that a client sends.
func (e *Engine) checkSignalValue(name string, value json.RawMessage) error {
	if err := e.checkSize("the signal's value", int64(len(value))); err != nil {
		return err
	}
	if !json.Valid(value) {
		return perdure.FieldErrorf("signalValue", "is not valid JSON")
	}
	if err := perdure.CheckNoDoubledKeys("signalValue", value); err != nil {
		return err
	}
	if name != perdure.UserMessage {
		return nil
	}
	m, err := perdure.ParseUserMessage("signalValue", value)
	if err != nil {
		return err
	}
	entry, err := perdure.NewMessageEntry(m)
	if err != nil {
		return err
	}
	return e.checkSize("the message", int64(len(entry.Content))) // it may be longer than it was sent
}

// largeValue is from which length on values are read one at a time.
const largeValue = 4 << 20

// checkReferenced reads the content that stands in place of a signal's value, and
// checks it as the value is checked. It reports whether it did: content that is not
// there, or not whole, is the decision's to refuse, for the signal may be a repeat.
func (e *Engine) checkReferenced(ctx context.Context, org string, execution uuid.UUID, r SignalRequest) (bool, error) {
	if r.Ref == nil {
		return false, nil
	}
	if _, err := e.refs.Execution(ctx, org, execution); err != nil {
		return false, err
	}
	value, done, err := e.referenced(ctx, execution, *r.Ref, "the signal's value")
	if err != nil || value == nil {
		return false, err
	}
	defer done()
	return true, e.checkSignalValue(r.Name, value)
}

// referenced reads an uploaded content to be checked, or returns nil if it is not
// there whole. The caller calls done when it has checked it: of large contents one at
// a time is in memory.
func (e *Engine) referenced(ctx context.Context, execution, blob uuid.UUID, what string) (raw json.RawMessage, done func(), err error) {
	b, err := e.Store.BlobRow(ctx, execution, blob)
	if perdure.IsCode(err, perdure.NotFound) || err == nil && b.Held != b.Length {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if err := e.checkSize(what, b.Length); err != nil {
		return nil, nil, err
	}
	done = func() {}
	if b.Length > largeValue {
		select {
		case e.largeValues <- struct{}{}:
			done = func() { <-e.largeValues }
		case <-ctx.Done():
			return nil, nil, &perdure.Error{Code: perdure.Unavailable, Message: what + " could not be read in time", Err: ctx.Err()}
		}
	}
	if raw, err = e.wholeBlob(ctx, execution, b); err != nil {
		done()
		return nil, nil, err
	}
	return raw, done, nil
}

// wholeBlob reads a blob into memory.
func (e *Engine) wholeBlob(ctx context.Context, execution uuid.UUID, b *store.Blob) (json.RawMessage, error) {
	content, err := e.Store.Blob(ctx, execution, b.ID)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	value := make([]byte, b.Length)
	if _, err := io.ReadFull(content, value); err != nil {
		return nil, &perdure.Error{Code: perdure.Unavailable, Message: "an uploaded content could not be read", Err: err}
	}
	return value, nil
}
