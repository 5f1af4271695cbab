// Package openai is a provider for the OpenAI Chat Completions API and for compatible servers.
package openai

import (
	"context"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// Name is the name of this provider.
const Name = "openai"

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
	stream := gpt.Post[chunk](ctx, c, "chat/completions", params(c.Request, serverAt(c.To.BaseURL)))
	if err := adapter.Read(ctx, &answer.Answer, stream, answer.take); err != nil {
		return nil, err
	}
	return answer.finish()
}
