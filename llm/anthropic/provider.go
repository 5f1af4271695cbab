// Package anthropic is a provider for the Anthropic Messages API and for compatible servers. It
// uses the official SDK.
package anthropic

import (
	"context"
	"net/http"
	"slices"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/perdure/perdure/llm"
)

// Name is the provider's name in the names of models.
const Name = "anthropic"

// Config configures the provider.
type Config = llm.Config

// Provider implements llm.Provider.
type Provider struct{ config Config }

// New creates the provider. It reads no environment variables: a key that Endpoints does not name
// is never sent.
func New(config Config) *Provider {
	return &Provider{config: config.Normal()}
}

// Name returns "anthropic".
func (p *Provider) Name() string { return Name }

// Endpoints implements llm.Endpointed.
func (p *Provider) Endpoints() *llm.Endpoints { return p.config.Endpoints }

// Stream implements llm.Provider.
func (p *Provider) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	to, err := p.config.Connect(Name, req)
	if err != nil {
		return nil, err
	}
	return llm.Guarded(to.Key, emit, func(emit func(llm.Delta) error) (*llm.Response, error) {
		return p.call(ctx, to, req, emit)
	})
}

// call makes one call.
func (p *Provider) call(ctx context.Context, to llm.Connection, req llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	messages := anthropic.NewMessageService(options(p.config.Client, to)...)
	answer, sent := newAnswer(emit), params(req)
	turns, sofar := sent.Messages, paused{}
	for {
		if err := read(ctx, &messages, sent, answer); err != nil {
			return nil, err
		}
		if !sofar.goesOn(answer) {
			break
		}
		m, err := sofar.message()
		if err != nil {
			return nil, err
		}
		sent.Messages = append(slices.Clone(turns), m)
	}
	answer.usage = answer.usage.Add(sofar.usage)
	resp, err := answer.finish(req.Model, p.config.Prices)
	if err != nil {
		return nil, err
	}
	resp.Usage.Calls += int64(sofar.times)
	return resp, nil
}

// read makes one request and reads its stream.
func read(ctx context.Context, messages *anthropic.MessageService, sent anthropic.MessageNewParams, a *answer) error {
	stream := messages.NewStreaming(ctx, sent)
	defer func() { _ = stream.Close() }() // all that was wanted has been read
	for !a.done && stream.Next() {
		if err := a.take(stream.Current()); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return failure(ctx, err)
	}
	return ctx.Err()
}

// options sets all that the SDK would otherwise take from the environment.
func options(client *http.Client, to llm.Connection) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithHTTPClient(client),
		option.WithBaseURL(to.BaseURL),
		option.WithMaxRetries(0), // the durable task retries
		option.WithMiddleware(checkStatus),
		option.WithoutOpenTelemetry(),
	}
	if to.Key != "" {
		opts = append(opts, option.WithAPIKey(to.Key))
	}
	return opts
}
