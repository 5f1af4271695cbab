// Package adapter contains the code that the providers of model APIs share. It connects, hides the
// key, reads the events of a response and classifies failures. A provider encodes its requests and
// decodes its events.
package adapter

import (
	"context"

	"github.com/perdure/perdure/llm"
)

// API describes the differences between the providers.
type API struct {
	// Name is the name of the provider.
	Name      string
	Abilities []llm.Ability
	// Call makes one model call and returns its response.
	Call func(context.Context, *Call) (*llm.Response, error)
}

// Call is one call of a model.
type Call struct {
	llm.Request
	API    *API
	Config llm.Config
	To     llm.Connection
	Emit   func(llm.Delta) error
}

// Provider implements llm.Provider, llm.Endpointed and llm.Able for one API.
type Provider struct {
	api    API
	config llm.Config
}

// New creates the provider for an API.
func New(api API, config llm.Config) *Provider {
	return &Provider{api: api, config: config.Normal()}
}

// Name implements llm.Provider.
func (p *Provider) Name() string { return p.api.Name }

// Endpoints implements llm.Endpointed.
func (p *Provider) Endpoints() *llm.Endpoints { return p.config.Endpoints }

// Abilities implements llm.Able.
func (p *Provider) Abilities() []llm.Ability { return p.api.Abilities }

// Stream implements llm.Provider.
func (p *Provider) Stream(ctx context.Context, req llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	to, err := p.config.Connect(p.api.Name, req)
	if err != nil {
		return nil, err
	}
	return llm.Guarded(to.Key, emit, func(emit func(llm.Delta) error) (*llm.Response, error) {
		return p.api.Call(ctx, &Call{Request: req, API: &p.api, Config: p.config, To: to, Emit: emit})
	})
}
