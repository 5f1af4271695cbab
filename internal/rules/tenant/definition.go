package tenant

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// CreateDefinition stores a new agent definition. Error: already_exists (slug).
func CreateDefinition(s *store.State, by Change, d perdure.Definition) (*store.Changes, error) {
	d.CreatedAt = s.Now
	return putDefinition(s, by, d)
}

// UpdateDefinition replaces an agent definition. If ifVersion is not 0, it must equal the stored
// version. Errors: not_found, conflict (version), already_exists (slug).
func UpdateDefinition(s *store.State, by Change, d perdure.Definition, ifVersion int64) (*store.Changes, error) {
	if s.Definition == nil {
		return nil, rules.NoDefinition(d.ID)
	}
	if ifVersion != 0 && s.Definition.Version != ifVersion {
		return nil, perdure.Errorf(perdure.Conflict, "the definition is at version %d, not %d; read it again", s.Definition.Version, ifVersion)
	}
	d.CreatedAt, d.Version = s.Definition.CreatedAt, s.Definition.Version+1
	return putDefinition(s, by, d)
}

func putDefinition(s *store.State, by Change, d perdure.Definition) (*store.Changes, error) {
	if s.BySlug != nil && s.BySlug.ID != d.ID {
		return nil, perdure.Errorf(perdure.AlreadyExists, "the slug %q belongs to another definition", d.Slug)
	}
	d.UpdatedAt = s.Now
	return &store.Changes{Definition: &d, Audit: by.definition(s.Now, s.Definition, &d), Answer: &rules.Decision{}}, nil
}

// DeleteDefinition deletes an agent definition. Error: not_found.
func DeleteDefinition(s *store.State, by Change, id uuid.UUID) (*store.Changes, error) {
	if s.Definition == nil {
		return nil, rules.NoDefinition(id)
	}
	return &store.Changes{DeleteDefinition: &id, Audit: by.definition(s.Now, s.Definition, nil), Answer: &rules.Decision{}}, nil
}
