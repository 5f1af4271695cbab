package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// noWorkerYet is the time after which a client should try again if no worker has registered yet.
const noWorkerYet = time.Second

// errNoWorker returns the error for a request of an org in which no worker has registered an agent
// yet. The client should repeat the request.
func errNoWorker() error {
	const what = "no worker of this org has registered yet; start one with perdure worker, or ask again"
	return &perdure.Error{
		Code: perdure.Unavailable, Message: what, RetryAfter: noWorkerYet,
		Fields: []perdure.FieldError{{Location: "kind", Message: what}},
	}
}

// HasWorkers returns nil if a worker of the org has ever registered an agent. Error: unavailable.
func (e *Engine) HasWorkers(ctx context.Context, org string) error {
	kinds, err := e.Store.Kinds(ctx, org)
	if err == nil && !slices.ContainsFunc(kinds, func(k store.Kind) bool { return k.Agent }) {
		err = errNoWorker()
	}
	return err
}

// kindName identifies a kind of an org.
type kindName struct{ org, kind string }

// AgentKind returns the registration of an agent kind of the org; callers must not modify it.
// Concurrent calls share a read, but a read never begins before the call. The result therefore
// contains everything that any server had committed before the call. Error: not_found.
func (e *Engine) AgentKind(ctx context.Context, org, kind string) (*perdure.KindSpec, error) {
	found, err := e.storedKind(ctx, org, kind)
	if err != nil {
		return nil, err
	}
	return &found.Spec, nil
}

func (e *Engine) storedKind(ctx context.Context, org, kind string) (*store.Kind, error) {
	return e.agentKinds.Get(ctx, kindName{org, kind}, func(ctx context.Context) (*store.Kind, error) {
		return e.Store.AgentKind(ctx, org, kind)
	})
}

// kind returns the registration of an agent kind. A kind is known once any worker of the org has
// registered it. Errors: invalid_argument, which names the known kinds; unavailable, if no kind is
// known.
func (e *Engine) kind(ctx context.Context, org, kind string) (perdure.KindSpec, error) {
	if perdure.CheckText("kind", kind) != nil {
		return e.kindOfAll(ctx, org, kind) // no store can hold such a name
	}
	known, err := e.AgentKind(ctx, org, kind)
	if perdure.IsCode(err, perdure.NotFound) {
		return e.kindOfAll(ctx, org, kind)
	}
	if err != nil {
		return perdure.KindSpec{}, err
	}
	return *known, nil
}

// kindOfAll looks for an agent kind among all kinds of the org. A worker may have registered it
// since [Engine.AgentKind] did not find it.
func (e *Engine) kindOfAll(ctx context.Context, org, kind string) (perdure.KindSpec, error) {
	kinds, err := e.Store.Kinds(ctx, org)
	if err != nil {
		return perdure.KindSpec{}, err
	}
	var known []string
	for _, k := range kinds {
		if k.Agent && k.Spec.Kind == kind {
			return k.Spec, nil
		}
		if k.Agent {
			known = append(known, k.Spec.Kind)
		}
	}
	if len(known) == 0 {
		return perdure.KindSpec{}, errNoWorker()
	}
	slices.Sort(known)
	return perdure.KindSpec{}, perdure.FieldErrorf("kind", "%q is not known; known kinds are: %s", kind, strings.Join(known, ", "))
}

// register stores the kinds that a worker can run. A stored kind has the providers and endpoints of
// all its workers.
func (e *Engine) register(ctx context.Context, org string, r perdure.Registration) error {
	if err := e.checkRegistration(r); err != nil {
		return err
	}
	_, err := e.one(ctx, store.Command{
		Name: "register", Lane: store.LaneCommits, Frees: true, Org: org, Execution: uuid.Nil,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Kinds: true, Workers: true} },
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.Register(s, org, r) },
	})
	return err
}

func (e *Engine) checkRegistration(r perdure.Registration) error {
	if err := validate.Texts("", r); err != nil {
		return err
	}
	if len(r.Queues) > perdure.MaxPollQueues {
		return perdure.FieldErrorf("queues", "are %d; a worker takes work from %d at most", len(r.Queues), perdure.MaxPollQueues)
	}
	for at, specs := range map[string][]perdure.KindSpec{"agents": r.Agents, "tasks": r.Tasks} {
		if len(specs) > perdure.MaxPollKinds {
			return perdure.FieldErrorf(at, "are %d kinds; a worker runs %d at most", len(specs), perdure.MaxPollKinds)
		}
		for i, spec := range specs {
			if err := checkAllowed(fmt.Sprintf("%s[%d].endpoints", at, i), spec.Endpoints); err != nil {
				return err
			}
			if err := e.checkSchemaOf(fmt.Sprintf("%s[%d].inputSchema", at, i), spec.Kind, spec.InputSchema); err != nil {
				return err
			}
			if err := e.checkSchemaOf(fmt.Sprintf("%s[%d].outputSchema", at, i), spec.Kind, spec.OutputSchema); err != nil {
				return err
			}
			if err := perdure.CheckTags(fmt.Sprintf("%s[%d].tags", at, i), spec.Tags); err != nil {
				return err
			}
			if err := e.checkSignalSpecs(fmt.Sprintf("%s[%d].signals", at, i), spec); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSchemaOf checks a schema of a registered kind. Error: invalid_argument.
func (e *Engine) checkSchemaOf(field, kind string, raw json.RawMessage) error {
	if err := validate.JSON(field, raw); err != nil {
		return err
	}
	if err := perdure.CheckNoDoubledKeys(field, raw); err != nil {
		return err
	}
	return e.schemas.checkRegistered(field, kind, raw)
}
