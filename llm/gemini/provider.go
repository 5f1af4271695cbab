// Package gemini is a provider for the Gemini API.
package gemini

import (
	"context"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
)

// Name is the name of this provider.
const Name = "gemini"

// Config is the configuration of the provider.
type Config = llm.Config

// Provider implements llm.Provider.
type Provider struct{ *adapter.Provider }

// New creates the provider. All API keys come from config.Endpoints; New itself reads no
// environment variables.
func New(config Config) *Provider {
	return &Provider{adapter.New(adapter.API{
		Name: Name, Abilities: []llm.Ability{llm.AbleToChooseTools, llm.AbleToFormat, llm.AbleToSayObject},
		Call: generate,
	}, config)}
}

// generate makes one model call and returns its response.
func generate(ctx context.Context, c *adapter.Call) (*llm.Response, error) {
	req, err := newRequest(ctx, c)
	if err != nil {
		return nil, err
	}
	answer := newAnswer(c)
	if err := adapter.Read(ctx, &answer.Answer, send(c.Config.Client, req), answer.take); err != nil {
		return nil, err
	}
	return answer.finish()
}
