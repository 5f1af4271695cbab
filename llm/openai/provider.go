// Package openai is a provider for the OpenAI Chat Completions API and for the many compatible
// servers. It uses the official SDK.
package openai

import (
	"context"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/perdure/perdure/llm"
)

// Name is the provider's name in the names of models.
const Name = "openai"

// Config configures the provider.
type Config = llm.Config

// Provider implements llm.Provider.
type Provider struct{ config Config }

// New creates the provider. It reads no environment variables: a key that Endpoints does not name
// is never sent.
func New(config Config) *Provider {
	return &Provider{config: config.Normal()}
}

// Name returns "openai".
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
	completions := openai.NewChatCompletionService(options(p.config.Client, to)...)
	stream := completions.NewStreaming(ctx, params(req, serverAt(to.BaseURL)))
	defer func() { _ = stream.Close() }() // the stream has been read
	answer := newAnswer(emit)
	for stream.Next() {
		if err := answer.take(stream.Current()); err != nil {
			return nil, err
		}
	}
	if err := stream.Err(); err != nil {
		return nil, failure(ctx, err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answer.finish(req.Model, p.config.Prices)
}

// options sets all options that the SDK would otherwise read from the environment.
func options(client *http.Client, to llm.Connection) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithHTTPClient(client),
		option.WithBaseURL(to.BaseURL),
		option.WithMaxRetries(0), // the durable task retries
		option.WithMiddleware(checkStatus),
	}
	if to.Key != "" {
		opts = append(opts, option.WithAPIKey(to.Key))
	}
	return opts
}
