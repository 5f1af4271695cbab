package tenant

import (
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// MaxKnownEndpoints is the maximum number of model endpoints that are stored for a kind, for all
// its workers together.
const MaxKnownEndpoints = 2000

// Register stores the kinds of agents and tasks that a worker of the org can run. A stored kind has
// the providers and endpoints of all its workers. Register also stores the worker, so that lists of
// workers contain it.
func Register(s *store.State, org string, r perdure.Registration) (*store.Changes, error) {
	return &store.Changes{Kinds: kindsOf(org, r, s.Kinds, s.Now), Workers: workersOf(s, org, r), Answer: &rules.Decision{}}, nil
}

func kindsOf(org string, r perdure.Registration, known []store.Kind, now perdure.Time) []store.Kind {
	var kinds []store.Kind
	add := func(spec perdure.KindSpec, agent bool) {
		var before []perdure.ModelEndpoint
		var signals []store.KindSignal
		var outputs []store.KindOutput
		for _, k := range known {
			if k.Agent == agent && k.Spec.Kind == spec.Kind {
				spec.Providers = union(k.Spec.Providers, spec.Providers)
				before, signals = k.Spec.Endpoints, k.Signals
				outputs = outputsBefore(k)
			}
		}
		spec.Endpoints = knownEndpoints(spec.Endpoints, r.Queues, before)
		signals = knownSignals(spec.Signals, signals, now)
		outputs = knownOutputs(spec.OutputSchema, outputs, now)
		spec.Signals, spec.OutputSchema = nil, nil
		kinds = append(kinds, store.Kind{Org: org, Agent: agent, Spec: spec, SeenAt: now, Signals: signals, Outputs: outputs})
	}
	for _, spec := range r.Agents {
		add(spec, true)
	}
	for _, spec := range r.Tasks {
		add(spec, false)
	}
	return kinds
}

func union(a, b []string) []string {
	all := append(slices.Clone(a), b...)
	slices.Sort(all)
	return slices.Compact(all)
}

// knownEndpoints returns the endpoints that a worker allows, once for each of the worker's queues,
// followed by the other endpoints in `before`. At most MaxKnownEndpoints are returned.
func knownEndpoints(allowed []perdure.ModelEndpoint, queues []string, before []perdure.ModelEndpoint) (all []perdure.ModelEndpoint) {
	for _, queue := range queues {
		for _, e := range allowed {
			e.Queue = queue
			all = append(all, e)
		}
	}
	for _, e := range before {
		if !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	return all[:min(len(all), MaxKnownEndpoints)]
}
