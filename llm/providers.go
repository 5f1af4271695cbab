package llm

import (
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/perdure/perdure"
)

// Providers is a registry of providers by name. The zero value is empty and ready to use. It is
// safe for concurrent use.
type Providers struct {
	mu     sync.RWMutex
	byName map[string]Provider
	// windows is the table from which Limits reads; nil means DefaultWindows.
	windows Windows
	// logger is the logger that SetLogger has set; nil means slog.Default.
	logger *slog.Logger
	// unknown are the models for which Limits has logged that their context window is not known.
	unknown loggedModels
}

// NewProviders returns a registry with the given providers. Of two providers with the same name,
// the later one is used.
func NewProviders(providers ...Provider) *Providers {
	ps := &Providers{}
	for _, p := range providers {
		ps.Register(p)
	}
	return ps
}

// Register adds p under its name, and replaces an earlier provider with that name.
func (ps *Providers) Register(p Provider) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.byName == nil {
		ps.byName = map[string]Provider{}
	}
	ps.byName[p.Name()] = p
}

// Lookup returns the provider with the given name. Errors: invalid_argument with the list of the
// known names.
func (ps *Providers) Lookup(name string) (Provider, error) {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	if p, ok := ps.byName[name]; ok {
		return p, nil
	}
	return nil, perdure.FieldErrorf("provider", "%q is unknown; there are: %s", name, strings.Join(ps.names(), ", "))
}

// Names returns the names of the providers in alphabetical order.
func (ps *Providers) Names() []string {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	return ps.names()
}

func (ps *Providers) names() []string {
	names := make([]string, 0, len(ps.byName))
	for name := range ps.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Endpointed is a Provider whose calls go only to the endpoints that the operator allows.
type Endpointed interface {
	Provider
	Endpoints() *Endpoints
}

// Endpoints returns the allowed endpoints of all registered providers that are Endpointed. A worker
// reports them to the server.
func (ps *Providers) Endpoints() (all []perdure.ModelEndpoint) {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	for _, p := range ps.byName {
		if limited, ok := p.(Endpointed); ok {
			for _, e := range limited.Endpoints().Allowed() {
				if _, there := ps.byName[e.Provider]; !there {
					e.Provider = "" // the default endpoint of a provider that is not registered
				}
				if !slices.Contains(all, e) {
					all = append(all, e)
				}
			}
		}
	}
	slices.SortFunc(all, compareEndpoints)
	return all[:min(len(all), perdure.MaxEndpoints)]
}
