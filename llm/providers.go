package llm

import (
	"slices"
	"strings"
	"sync"

	"github.com/perdure/perdure"
)

// Providers finds providers by name. The zero value is empty and ready; it is
// safe for concurrent use.
type Providers struct {
	mu     sync.RWMutex
	byName map[string]Provider
}

// NewProviders registers all of them; of two with one name the later counts.
func NewProviders(providers ...Provider) *Providers {
	ps := &Providers{}
	for _, p := range providers {
		ps.Register(p)
	}
	return ps
}

// Register adds p under its name, in place of an earlier one of that name.
func (ps *Providers) Register(p Provider) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.byName == nil {
		ps.byName = map[string]Provider{}
	}
	ps.byName[p.Name()] = p
}

// Lookup finds a provider. The error is invalid_argument and lists the known
// ones.
func (ps *Providers) Lookup(name string) (Provider, error) {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	if p, ok := ps.byName[name]; ok {
		return p, nil
	}
	return nil, perdure.FieldErrorf("provider", "%q is unknown; there are: %s", name, strings.Join(ps.names(), ", "))
}

// Names lists the known providers in alphabetical order.
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

// Endpointed is a Provider whose calls go only where its Endpoints allow.
type Endpointed interface {
	Provider
	Endpoints() *Endpoints
}

// Endpoints returns the endpoints that the providers are allowed, for a worker to
// tell the server. Providers that are not Endpointed say nothing.
func (ps *Providers) Endpoints() (all []perdure.ModelEndpoint) {
	ps.mu.RLock()
	defer ps.mu.RUnlock()
	for _, p := range ps.byName {
		if limited, ok := p.(Endpointed); ok {
			for _, e := range limited.Endpoints().Allowed() {
				if _, there := ps.byName[e.Provider]; !there {
					e.Provider = "" // a default of nobody here
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
