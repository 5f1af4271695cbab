package engine

import (
	"context"
	"regexp"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var slugRule = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,99}$`)

func noDefinition(id uuid.UUID) error {
	return perdure.Errorf(perdure.NotFound, "there is no agent definition %s", id)
}

// CreateDefinition stores a new definition. Errors: invalid_argument, already_exists (slug).
func (e *Engine) CreateDefinition(ctx context.Context, org string, d perdure.Definition) (*perdure.Definition, error) {
	d.ID, d.Org, d.Version = uuid.Must(uuid.NewV7()), org, 1
	if err := e.checkDefinition(ctx, org, &d); err != nil {
		return nil, err
	}
	return e.putDefinition(ctx, perdure.AuditDefinitionCreated, d, func(s *store.State) error {
		d.CreatedAt = s.Now
		return nil
	}, &d)
}

// UpdateDefinition replaces a definition. Unless ifVersion is 0, it must equal the stored version.
// Executions keep the copy that they started with. Errors: invalid_argument, not_found,
// already_exists (slug), conflict (version).
func (e *Engine) UpdateDefinition(ctx context.Context, org string, d perdure.Definition, ifVersion int64) (*perdure.Definition, error) {
	d.Org = org
	if err := e.checkDefinition(ctx, org, &d); err != nil {
		return nil, err
	}
	return e.putDefinition(ctx, perdure.AuditDefinitionChanged, d, func(s *store.State) error {
		if s.Definition == nil {
			return noDefinition(d.ID)
		}
		if ifVersion != 0 && s.Definition.Version != ifVersion {
			return perdure.Errorf(perdure.Conflict, "the definition is at version %d, not %d; read it again", s.Definition.Version, ifVersion)
		}
		d.CreatedAt, d.Version = s.Definition.CreatedAt, s.Definition.Version+1
		return nil
	}, &d)
}

// putDefinition stores *d if check succeeds; check may set fields of *d.
func (e *Engine) putDefinition(ctx context.Context, action perdure.AuditAction, want perdure.Definition, check func(*store.State) error, d *perdure.Definition) (*perdure.Definition, error) {
	by := changed{actor: store.ActorOf(ctx), org: want.Org, action: action}
	_, err := e.one(ctx, store.Command{
		Name: string(action), Lane: store.LaneCommits, Org: want.Org,
		Needs: func(*perdure.Execution) store.Needs {
			return store.Needs{Definition: &want.ID, Slug: want.Slug}
		},
		Decide: func(s *store.State) (*store.Changes, error) {
			if err := check(s); err != nil {
				return nil, err
			}
			if s.BySlug != nil && s.BySlug.ID != want.ID {
				return nil, perdure.Errorf(perdure.AlreadyExists, "the slug %q belongs to another definition", want.Slug)
			}
			d.UpdatedAt = s.Now
			row := *d
			return &store.Changes{Definition: &row, Audit: by.definition(s.Now, s.Definition, &row), Answer: &decided{}}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return e.Store.Definition(ctx, want.Org, want.ID)
}

// DeleteDefinition deletes a definition. Executions keep their copy. Error: not_found.
func (e *Engine) DeleteDefinition(ctx context.Context, org string, id uuid.UUID) error {
	by := changed{actor: store.ActorOf(ctx), org: org, action: perdure.AuditDefinitionDeleted}
	_, err := e.one(ctx, store.Command{
		Name: "delete definition", Lane: store.LaneCommits, Frees: true, Org: org,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{Definition: &id} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Definition == nil {
				return nil, noDefinition(id)
			}
			return &store.Changes{DeleteDefinition: &id, Audit: by.definition(s.Now, s.Definition, nil), Answer: &decided{}}, nil
		},
	})
	return err
}

func (e *Engine) checkDefinition(ctx context.Context, org string, d *perdure.Definition) error {
	switch {
	case d.Name == "" || len(d.Name) > maxName:
		return perdure.FieldErrorf("name", "must have 1 to %d characters", maxName)
	case !slugRule.MatchString(d.Slug):
		return perdure.FieldErrorf("slug", "%q must be 1 to 100 lower-case letters, digits and dashes", d.Slug)
	case len(d.Models) == 0:
		return perdure.FieldErrorf("models", "must name at least one model")
	case len(d.Metadata) > maxMetadata:
		return perdure.FieldErrorf("metadata", "has %d bytes; the limit is %d", len(d.Metadata), maxMetadata)
	}
	for _, text := range []struct{ field, value string }{
		{"name", d.Name}, {"description", d.Description}, {"systemPrompt", d.SystemPrompt},
	} {
		if err := perdure.CheckText(text.field, text.value); err != nil {
			return err
		}
	}
	if err := checkJSON("metadata", d.Metadata); err != nil {
		return err
	}
	spec, err := e.kind(ctx, org, perdure.ReactKind)
	if err != nil {
		return err
	}
	if err := checkModels(d.Models, spec.Providers); err != nil {
		return err
	}
	if err := checkEndpoints(d.Models, spec.Endpoints, anyQueue); err != nil {
		return err
	}
	if d.Tools == nil {
		d.Tools = []string{}
	}
	if err := perdure.CheckToolNames(perdure.ListPlaces("tools"), d.Tools, d.Models); err != nil {
		return err
	}
	if d.Retention != nil && d.Retention.IsZero() {
		d.Retention = nil
	}
	if err := checkRetention(d.Retention); err != nil {
		return err
	}
	return checkConfig(d.Config)
}
