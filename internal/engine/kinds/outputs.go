package kinds

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/uploads"
	"github.com/perdure/perdure/internal/lru"
	"github.com/perdure/perdure/internal/store"
)

// outputKinds caches the output schemas of the kinds of each org. An output that fits a cached
// schema is accepted. An output that does not fit is compared with the stored schemas before it is
// refused.
type outputKinds struct {
	mu   sync.Mutex
	orgs lru.Map[string, *outputsOfOrg]
}

const (
	// outputKindsTTL is the time for which the schemas of an org are cached.
	outputKindsTTL = 10 * time.Second
	// maxOutputOrgs is the maximum number of orgs in an outputKinds.
	maxOutputOrgs = 1000
)

// outputsOfOrg are the output schemas of an org's agents and tasks, by kind. Kinds without schemas
// are not in the maps.
type outputsOfOrg struct {
	agents, tasks map[string][]store.KindOutput
	readAt        perdure.Time
}

func (k *Kinds) cachedOutputs(ctx context.Context, org string) (*outputsOfOrg, error) {
	c := &k.outputs
	c.mu.Lock()
	known := c.orgs.Get(org)
	c.mu.Unlock()
	if known != nil && k.store.Now().Sub(known.readAt.Time) < outputKindsTTL {
		return known, nil
	}
	return k.readOutputs(ctx, org)
}

func (k *Kinds) readOutputs(ctx context.Context, org string) (*outputsOfOrg, error) {
	now := k.store.Now()
	kinds, err := k.store.Kinds(ctx, org)
	if err != nil {
		return nil, err
	}
	known := &outputsOfOrg{agents: map[string][]store.KindOutput{}, tasks: map[string][]store.KindOutput{}, readAt: now}
	for _, k := range kinds {
		if len(k.Outputs) > 0 {
			known.of(k.Agent)[k.Spec.Kind] = k.Outputs
		}
	}
	c := &k.outputs
	c.mu.Lock()
	defer c.mu.Unlock()
	c.orgs.Put(org, known)
	for c.orgs.Len() > maxOutputOrgs {
		c.orgs.RemoveOldest()
	}
	return known, nil
}

func (o *outputsOfOrg) of(agent bool) map[string][]store.KindOutput {
	if agent {
		return o.agents
	}
	return o.tasks
}

// outputCheck returns the function that compares an output with the schemas of its kind, or nil if
// the kind has no output schema. The function `kindOf` reads the name of the kind. outputCheck
// calls kindOf only if some kind of the org has an output schema.
func (k *Kinds) outputCheck(ctx context.Context, org, field string, agent bool, kindOf func() (string, error)) (func(json.RawMessage) error, error) {
	known, err := k.cachedOutputs(ctx, org)
	if err != nil || len(known.of(agent)) == 0 {
		return nil, err
	}
	kind, err := kindOf()
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, nil // the function of package rules that ends the execution or task refuses the request
	}
	if err != nil || len(known.of(agent)[kind]) == 0 {
		return nil, err
	}
	return func(output json.RawMessage) error {
		if k.misfitOutput(field, known.of(agent)[kind], output) == nil {
			return nil
		}
		stored, err := k.readOutputs(ctx, org)
		if err != nil {
			return err
		}
		return k.misfitOutput(field, stored.of(agent)[kind], output)
	}, nil
}

// misfitOutput returns nil if the output fits at least one of the schemas. Otherwise it returns the
// error of the comparison with the newest schema.
func (k *Kinds) misfitOutput(field string, outputs []store.KindOutput, output json.RawMessage) error {
	var first error
	for _, o := range outputs {
		err := k.Schemas.Check(field, perdure.KindSpec{InputSchema: o.Schema}, output)
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// FitOutput prepares the check of an execution's output. The last element of the parameter `all` is
// the output of the commit. If the commit completes the execution, FitOutput sets the Fit function
// of that element, which compares the output with the output schemas of the execution's kind.
func (k *Kinds) FitOutput(ctx context.Context, org string, c perdure.Commit, all []uploads.Content) error {
	output := &all[len(all)-1]
	if c.Outcome.Kind != perdure.OutcomeComplete || c.Outcome.Output.Size() == 0 {
		return nil
	}
	var err error
	output.Fit, err = k.outputCheck(ctx, org, output.Field, true, func() (string, error) { return k.of(ctx, org, c.Lease.ExecutionID) })
	return err
}

// FitResult sets result.Fit to the function that compares the result of a task with the output
// schemas of the task's kind.
func (k *Kinds) FitResult(ctx context.Context, org string, f perdure.TaskFinish, result *uploads.Content) (err error) {
	if f.Error != nil || f.Result.Size() == 0 {
		return nil
	}
	result.Fit, err = k.outputCheck(ctx, org, result.Field, false, func() (string, error) {
		tasks, err := k.refs.Tasks(ctx, f.Lease.ExecutionID, []uuid.UUID{f.Lease.TaskID}, true)
		if err != nil || tasks[0] == nil {
			return "", err
		}
		return tasks[0].Kind, nil
	})
	return err
}
