// Package definitions implements the commands on definitions of agents. Its checks of models and
// settings are also used when an execution starts.
package definitions

import (
	"context"
	"regexp"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/kinds"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// Definitions implements the commands on definitions of agents. [New] creates one.
type Definitions struct {
	store     store.Store
	kinds     *kinds.Kinds
	questions *questions.Questions
	one       func(context.Context, store.Command) (any, error)
}

// Config configures a [Definitions]. All fields are required.
type Config struct {
	Store     store.Store
	Kinds     *kinds.Kinds
	Questions *questions.Questions
	// One runs a command on the store, and returns the command's result (rules.Decision.Value).
	One func(context.Context, store.Command) (any, error)
}

// New creates a Definitions.
func New(c Config) *Definitions {
	return &Definitions{store: c.Store, kinds: c.Kinds, questions: c.Questions, one: c.One}
}

var slugRule = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,99}$`)

// Create stores a new definition. Errors: invalid_argument, already_exists (slug).
func (s *Definitions) Create(ctx context.Context, org string, d perdure.Definition) (*perdure.Definition, error) {
	d.ID, d.Org, d.Version = uuid.Must(uuid.NewV7()), org, 1
	if err := s.check(ctx, org, &d); err != nil {
		return nil, err
	}
	return s.put(ctx, perdure.AuditDefinitionCreated, d, func(s *store.State, by tenant.Change) (*store.Changes, error) {
		return tenant.CreateDefinition(s, by, d)
	})
}

// Update replaces a definition. If ifVersion is not 0, it must equal the stored version. Executions
// keep the copy of the definition with which they started. Errors: invalid_argument, not_found,
// already_exists (slug), conflict (version).
func (s *Definitions) Update(ctx context.Context, org string, d perdure.Definition, ifVersion int64) (*perdure.Definition, error) {
	d.Org = org
	if err := s.check(ctx, org, &d); err != nil {
		return nil, err
	}
	return s.put(ctx, perdure.AuditDefinitionChanged, d, func(s *store.State, by tenant.Change) (*store.Changes, error) {
		return tenant.UpdateDefinition(s, by, d, ifVersion)
	})
}

// put runs a command that stores the definition d and an audit record of the action; the function
// `decide` makes the changes. put returns the definition as it was stored.
func (s *Definitions) put(ctx context.Context, action perdure.AuditAction, d perdure.Definition, decide func(*store.State, tenant.Change) (*store.Changes, error)) (*perdure.Definition, error) {
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: d.Org, Action: action}
	_, err := s.one(ctx, store.Command{
		Name: string(action), Lane: store.LaneCommits, Org: d.Org,
		Needs: func(*perdure.Execution) store.Needs {
			return store.Needs{Definition: &d.ID, Slug: d.Slug}
		},
		Decide: func(s *store.State) (*store.Changes, error) { return decide(s, by) },
	})
	if err != nil {
		return nil, err
	}
	return s.store.Definition(ctx, d.Org, d.ID)
}

// Delete deletes a definition. Executions keep their copies of the definition. Error: not_found.
func (s *Definitions) Delete(ctx context.Context, org string, id uuid.UUID) error {
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: org, Action: perdure.AuditDefinitionDeleted}
	_, err := s.one(ctx, store.Command{
		Name: "delete definition", Lane: store.LaneCommits, Frees: true, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Definition: &id} },
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.DeleteDefinition(s, by, id) },
	})
	return err
}

func (s *Definitions) check(ctx context.Context, org string, d *perdure.Definition) error {
	switch {
	case d.Name == "" || len(d.Name) > validate.MaxName:
		return perdure.FieldErrorf("name", "must have 1 to %d characters", validate.MaxName)
	case !slugRule.MatchString(d.Slug):
		return perdure.FieldErrorf("slug", "%q must be 1 to 100 lower-case letters, digits and dashes", d.Slug)
	case len(d.Models) == 0:
		return perdure.FieldErrorf("models", "must name at least one model")
	case len(d.Metadata) > MaxMetadata:
		return perdure.FieldErrorf("metadata", "has %d bytes; the limit is %d", len(d.Metadata), MaxMetadata)
	}
	for _, text := range []struct{ field, value string }{
		{"name", d.Name}, {"description", d.Description}, {"systemPrompt", d.SystemPrompt},
	} {
		if err := perdure.CheckText(text.field, text.value); err != nil {
			return err
		}
	}
	if err := validate.JSON("metadata", d.Metadata); err != nil {
		return err
	}
	spec, err := s.kinds.Spec(ctx, org, perdure.ReactKind)
	if err != nil {
		return err
	}
	if err := CheckModels(d.Models, spec.Providers); err != nil {
		return err
	}
	if err := kinds.CheckEndpoints(d.Models, spec.Endpoints, kinds.AnyQueue); err != nil {
		return err
	}
	if d.Tools == nil {
		d.Tools = []string{}
	}
	if err := perdure.CheckToolNames(perdure.ListPlaces("tools"), d.Tools, d.Models); err != nil {
		return err
	}
	if err := s.questions.CheckPolicy("approvals", d.Approvals); err != nil {
		return err
	}
	if d.Retention != nil && d.Retention.IsZero() {
		d.Retention = nil
	}
	if err := tenants.CheckRetention(d.Retention); err != nil {
		return err
	}
	return CheckAgentConfig(d.Config)
}
