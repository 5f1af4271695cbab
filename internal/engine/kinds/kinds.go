// Package kinds registers and reads the kinds of agents and tasks that workers can run. It also
// checks requests against the registrations: inputs, outputs, values of signals, and endpoints of
// models.
package kinds

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/uploads"
	"github.com/perdure/perdure/internal/sharedread"
	"github.com/perdure/perdure/internal/store"
)

// Kinds implements the commands on kinds, and the checks of requests against the registered kinds.
// [New] creates one.
type Kinds struct {
	// Schemas caches compiled JSON schemas. Other packages use the same cache for their checks.
	Schemas      Schemas
	store        store.Store
	refs         store.ClaimReader
	uploads      *uploads.Uploads
	one          func(context.Context, store.Command) (any, error)
	agents       sharedread.Reads[kindName, *store.Kind]
	ofExecutions executionKinds
	outputs      outputKinds
}

// Config configures a [Kinds]. All fields are required.
type Config struct {
	Store store.Store
	// Refs reads the same rows as Store. In place of contents that are stored in blobs, Refs
	// returns references.
	Refs    store.ClaimReader
	Uploads *uploads.Uploads
	// One runs a command on the store, and returns the command's result (rules.Decision.Value).
	One func(context.Context, store.Command) (any, error)
}

// New creates a Kinds.
func New(c Config) *Kinds {
	return &Kinds{store: c.Store, refs: c.Refs, uploads: c.Uploads, one: c.One}
}

// noWorkerYet is the time after which a client should try again if no worker has registered yet.
const noWorkerYet = time.Second

// errNoWorker returns the error of a request to an org in which no worker has registered an agent
// yet. The client should repeat the request.
func errNoWorker() error {
	const what = "no worker of this org has registered yet; start one with perdure worker, or ask again"
	return &perdure.Error{
		Code: perdure.Unavailable, Message: what, RetryAfter: noWorkerYet,
		Fields: []perdure.FieldError{{Location: "kind", Message: what}},
	}
}

// HasWorkers returns nil if a worker of the org has ever registered an agent. Error: unavailable.
func (k *Kinds) HasWorkers(ctx context.Context, org string) error {
	kinds, err := k.store.Kinds(ctx, org)
	if err == nil && !slices.ContainsFunc(kinds, func(k store.Kind) bool { return k.Agent }) {
		err = errNoWorker()
	}
	return err
}

// kindName identifies a kind of an org.
type kindName struct{ org, kind string }

// Agent returns the registration of an agent kind of the org; callers must not modify it.
// Concurrent calls share a read of the store, but no call uses a read that began before the call.
// The result therefore contains everything that any server had committed before the call. Error:
// not_found.
func (k *Kinds) Agent(ctx context.Context, org, kind string) (*perdure.KindSpec, error) {
	found, err := k.Stored(ctx, org, kind)
	if err != nil {
		return nil, err
	}
	return &found.Spec, nil
}

// Stored returns the registration of an agent kind as Agent does, together with the outputs and
// signals that all its workers have registered. Error: not_found.
func (k *Kinds) Stored(ctx context.Context, org, kind string) (*store.Kind, error) {
	return k.agents.Get(ctx, kindName{org, kind}, func(ctx context.Context) (*store.Kind, error) {
		return k.store.AgentKind(ctx, org, kind)
	})
}

// Spec returns the registration of an agent kind. A kind is known once any worker of the org has
// registered it. Errors: invalid_argument, which names the known kinds; unavailable, if the org has
// no known kinds.
func (k *Kinds) Spec(ctx context.Context, org, kind string) (perdure.KindSpec, error) {
	if perdure.CheckText("kind", kind) != nil {
		return k.specAmongAll(ctx, org, kind) // no store can hold such a name
	}
	known, err := k.Agent(ctx, org, kind)
	if perdure.IsCode(err, perdure.NotFound) {
		return k.specAmongAll(ctx, org, kind)
	}
	if err != nil {
		return perdure.KindSpec{}, err
	}
	return *known, nil
}

// specAmongAll looks for an agent kind among all kinds of the org. A worker may have registered the
// kind after [Kinds.Agent] did not find it.
func (k *Kinds) specAmongAll(ctx context.Context, org, kind string) (perdure.KindSpec, error) {
	kinds, err := k.store.Kinds(ctx, org)
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
