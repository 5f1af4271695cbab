// Package anthropic is a provider for the Anthropic Messages API and for compatible servers. It
// uses the official SDK.
package anthropic

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
)

// Name is the name of this provider.
const Name = "anthropic"

// Config is the configuration of the provider.
type Config = llm.Config

// Provider implements llm.Provider.
type Provider struct{ *adapter.Provider }

// New creates the provider. All API keys come from config.Endpoints; New itself reads no
// environment variables.
func New(config Config) *Provider {
	return &Provider{adapter.New(adapter.API{
		Name: Name, Abilities: []llm.Ability{llm.AbleToChooseTools, llm.AbleToCallOneTool, llm.AbleToFormat},
		Call: call,
	}, config)}
}

// call makes one model call and returns its response.
func call(ctx context.Context, c *adapter.Call) (*llm.Response, error) {
	messages := anthropic.NewMessageService(options(c)...)
	answer, sent := newAnswer(c), params(c.Request)
	turns, sofar := sent.Messages, pausedAnswer{}
	for {
		if err := adapter.Read[anthropic.MessageStreamEventUnion](ctx, &answer.Answer, events{messages.NewStreaming(ctx, sent)}, answer.take); err != nil {
			return nil, err
		}
		if !sofar.continues(answer) {
			break
		}
		m, err := sofar.message()
		if err != nil {
			return nil, err
		}
		sent.Messages = append(slices.Clone(turns), m)
	}
	answer.Usage = answer.Usage.Add(sofar.usage)
	resp, err := answer.finish()
	if err != nil {
		return nil, err
	}
	resp.Usage.Calls += int64(sofar.times)
	return resp, nil
}

// options returns the options of the SDK. It sets every option that the SDK would otherwise read
// from environment variables.
func options(c *adapter.Call) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithHTTPClient(c.Config.Client),
		option.WithBaseURL(c.To.BaseURL),
		option.WithMaxRetries(0), // the SDK does not retry, because the task that makes the call does
		option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return llm.Checked(Name, req, next)
		}),
		option.WithoutOpenTelemetry(),
	}
	if c.To.Key != "" {
		opts = append(opts, option.WithAPIKey(c.To.Key))
	}
	return opts
}

// events adapts the SDK's stream of events to adapter.Events.
type events struct {
	*ssestream.Stream[anthropic.MessageStreamEventUnion]
}

// Err implements adapter.Events.
func (e events) Err() error {
	var event *anthropic.Error
	if err := e.Stream.Err(); errors.As(err, &event) {
		return &adapter.EventError{Data: []byte(event.RawJSON())}
	}
	return e.Stream.Err()
}
