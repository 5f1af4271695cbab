package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/kinds"
	"github.com/perdure/perdure/internal/engine/uploads"
)

// Turn is a request to the Responses endpoint, as an execution of the react agent gets it: messages
// of any role, and the settings of the response that they begin. It is stored as the value of a
// userMessage signal. A client cannot send a signal whose value has the members of a Turn.
type Turn struct {
	Messages []perdure.InputMessage `json:"messages"`
	// Settings, if set, replaces the settings in the execution's input.
	Settings *perdure.ReactInput `json:"settings,omitempty"`
}

// UserMessageValue is the value of a stored userMessage signal: either the user's text and parts, or
// a Turn (several messages, and settings for the response).
type UserMessageValue struct {
	Text  *string        `json:"text,omitempty"`
	Parts []perdure.Part `json:"parts,omitempty"`
	Turn
}

// encodeTurn sets the request's value to the JSON of its Turn.
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
	return e.uploads.CheckSize("the input", int64(len(r.Value)))
}

// signalRules returns the rules for the JSON of a signal's value.
func signalRules(name string) perdure.DocumentRules {
	if name == perdure.UserMessage {
		return perdure.DocumentRules{Arrays: perdure.MessageParts}
	}
	return perdure.DocumentRules{}
}

// checkSignalValue checks the size and content of a value that a client sent.
func (e *Engine) checkSignalValue(name string, value json.RawMessage) error {
	if err := e.uploads.CheckSize("the signal's value", int64(len(value))); err != nil {
		return err
	}
	if err := perdure.CheckDocumentBytes("signalValue", value, signalRules(name)); err != nil {
		return err
	}
	switch name {
	case perdure.CompactSignal:
		return checkCompaction(value)
	case perdure.InterruptSignal:
		return checkInterrupt(value)
	case perdure.UserMessage:
		return e.checkUserMessage(value)
	}
	return nil
}

// checkUserMessage checks the value of a userMessage signal.
func (e *Engine) checkUserMessage(value json.RawMessage) error {
	m, err := perdure.ParseUserMessage("signalValue", value)
	if err != nil {
		return err
	}
	entry, err := perdure.NewMessageEntry(m)
	if err != nil {
		return err
	}
	return e.uploads.CheckSize("the message", int64(len(entry.Content))) // the entry may be longer than the signal's value
}

// checkedValue is the result of the check of a signal's value.
type checkedValue struct {
	whole  bool  // the referenced content is complete and valid
	misfit error // the value fits none of the schemas of its signal
}

// checkValue checks the value of a signal against the signal's registered schemas. If the value was
// uploaded, checkValue reads the uploaded content.
func (e *Engine) checkValue(ctx context.Context, org string, execution uuid.UUID, r SignalRequest, known kinds.Signal) (checkedValue, error) {
	if r.Ref == nil && known.Check != nil {
		return checkedValue{}, known.Check(r.Value)
	}
	if r.Ref == nil {
		return checkedValue{misfit: e.Kinds.Misfit(known, r.Value)}, nil
	}
	return e.checkReferenced(ctx, org, execution, r, known)
}

// checkReferenced reads the uploaded content that replaces a signal's value, and checks it like a
// value. It accepts a missing or incomplete content, because rules.Signal refuses such a signal
// later, unless the signal is a repeat.
func (e *Engine) checkReferenced(ctx context.Context, org string, execution uuid.UUID, r SignalRequest, known kinds.Signal) (seen checkedValue, err error) {
	if _, err := e.refs.Execution(ctx, org, execution); err != nil {
		return seen, err
	}
	check := uploads.Rule{What: "the signal's value", Scan: func(text io.Reader) error {
		return perdure.CheckDocument("signalValue", text, signalRules(r.Name))
	}}
	if r.Name == perdure.UserMessage || r.Name == perdure.CompactSignal || r.Name == perdure.InterruptSignal {
		check.Whole = func(value json.RawMessage) error { return e.checkSignalValue(r.Name, value) }
	} else if known.Check != nil {
		check.Whole = known.Check
	} else if !known.Any {
		check.Whole = func(value json.RawMessage) error { seen.misfit = e.Kinds.Misfit(known, value); return nil }
	}
	var refused error
	seen.whole, refused, err = e.uploads.Check(ctx, org, execution, *r.Ref, check)
	return seen, cmp.Or(err, refused)
}
