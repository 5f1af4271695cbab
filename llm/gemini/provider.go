// Package gemini is a provider for the Gemini API. It uses the official SDK.
package gemini

import (
	"context"
	"net/http"
	"sync"

	"google.golang.org/genai"

	"github.com/perdure/perdure/llm"
)

// Name is the provider's name in the names of models.
const Name = "gemini"

// Config configures the provider.
type Config = llm.Config

// Provider implements llm.Provider.
type Provider struct {
	config Config

	mu sync.Mutex
	// clients are the SDK's clients by base URL. Creating one is expensive, and logs warnings about
	// variables that are not used here.
	clients map[string]*genai.Models
}

// New creates the provider. It reads no environment variables: a key that Endpoints does not name
// is never sent.
func New(config Config) *Provider {
	return &Provider{config: config.Normal(), clients: map[string]*genai.Models{}}
}

// Name returns "gemini".
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
	wire := newWire(p.config.Client.Transport, to.Key)
	ctx = context.WithValue(ctx, wireOf{}, wire)
	models, err := p.open(ctx, to.BaseURL)
	if err != nil {
		return nil, err
	}
	config, err := params(req)
	if err != nil {
		return nil, err
	}
	answer := newAnswer(emit, wire)
	for chunk, err := range models.GenerateContentStream(ctx, req.Model, nil, config) {
		if err != nil {
			return nil, llm.TransportError(ctx, Name, err)
		}
		if err := answer.take(chunk); err != nil {
			return nil, err
		}
	}
	if wire.failed != nil {
		return nil, llm.TransportError(ctx, Name, wire.failed)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answer.finish(req.Model, p.config.Prices)
}

// open sets all options that the SDK would otherwise read from the environment. The SDK requires a
// key and would search for one; the wire replaces the placeholder with the real key.
func (p *Provider) open(ctx context.Context, baseURL string) (*genai.Models, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if models := p.clients[baseURL]; models != nil {
		return models, nil
	}
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "none",
		HTTPClient:  &http.Client{Transport: wireOf{}, CheckRedirect: noRedirect},
		HTTPOptions: genai.HTTPOptions{BaseURL: baseURL, APIVersion: "v1beta"},
	})
	if err != nil {
		return nil, &llm.Error{Kind: llm.InvalidRequest, Provider: Name, Message: "the endpoint cannot be used", Err: err}
	}
	p.clients[baseURL] = client.Models
	return client.Models, nil
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
