package adapter

import (
	"context"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// Answer assembles the response to a call. Each provider's type for its answers embeds it.
type Answer struct {
	Builder *llm.Builder
	Calls   *llm.Calls
	ID      string // the provider's id of the response
	Usage   perdure.Usage
	Done    bool // set when the terminal event was received; Read then stops

	call *Call
}

// NewAnswer creates an Answer to the call, without content.
func NewAnswer(c *Call) Answer {
	b := llm.NewWireBuilder(c.Emit)
	return Answer{Builder: b, Calls: llm.NewCalls(b, c.API.Name), call: c}
}

// Events are the events of one response. The streams of the SDKs implement this interface.
type Events[E any] interface {
	Next() bool
	Current() E
	Err() error
	Close() error
}

// Read passes each event to the function `take`, until `take` sets a.Done at the terminal event, or
// the stream ends. Then it closes the stream. Errors: an error of `take`, unchanged; the error of
// ctx if ctx has ended; an *llm.Error if the stream failed.
func Read[E any](ctx context.Context, a *Answer, events Events[E], take func(E) error) error {
	defer func() { _ = events.Close() }() // an error here loses no event
	for !a.Done && events.Next() {
		if err := take(events.Current()); err != nil {
			return err
		}
	}
	if err := events.Err(); err != nil {
		return a.call.failure(ctx, err)
	}
	return ctx.Err()
}

// failure returns the error for a stream that failed with err.
func (c *Call) failure(ctx context.Context, err error) error {
	var event *EventError
	if ctx.Err() == nil && errors.As(err, &event) {
		return llm.EventError(c.API.Name, event.Data)
	}
	return llm.TransportError(ctx, c.API.Name, err)
}

// Cut returns the error for a stream that ended before its terminal event.
func (a *Answer) Cut() error { return llm.CutStream(a.call.API.Name) }

// Finish ends the tool calls that are still open, and returns the response.
func (a *Answer) Finish(stop perdure.StopReason) (*llm.Response, error) {
	if err := a.Calls.Finish(); err != nil {
		return nil, err
	}
	model := llm.Model{Provider: a.call.API.Name, ID: a.call.Model}
	resp, err := a.Builder.Finish(model, stop, a.Usage, a.call.Config.Prices)
	if err != nil {
		return nil, err
	}
	resp.ProviderResponseID = a.ID
	return resp, nil
}
