// Package openairesponses is a provider for the OpenAI Responses API and for compatible servers.
// The server stores nothing: each call sends the whole conversation, including the model's own
// reasoning in encrypted form.
package openairesponses

import (
	"context"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// Name is the name of this provider.
const Name = "openai-responses"

// Config is the configuration of the provider.
type Config = llm.Config

// Provider implements llm.Provider.
type Provider struct{ *adapter.Provider }

// New creates the provider. All API keys come from config.Endpoints; New itself reads no
// environment variables.
func New(config Config) *Provider {
	return &Provider{adapter.New(adapter.API{
		Name: Name, Abilities: gpt.Abilities, Call: call,
	}, config)}
}

// call makes one model call and returns its response.
func call(ctx context.Context, c *adapter.Call) (*llm.Response, error) {
	answer := newAnswer(c)
	stream := gpt.Post[event](ctx, c, "responses", params(c.Request))
	if err := adapter.Read(ctx, &answer.Answer, stream, answer.take); err != nil {
		return nil, err
	}
	return answer.finish()
}
