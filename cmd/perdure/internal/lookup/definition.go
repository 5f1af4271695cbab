package lookup

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// DefinitionID returns the id of the definition that a flag names by id or slug; nil if the flag is
// empty. An id is not looked up, because runs outlive their definition.
func DefinitionID(ctx context.Context, c *client.Client, flag string) (*uuid.UUID, error) {
	if flag == "" {
		return nil, nil
	}
	if id, err := uuid.Parse(flag); err == nil && len(flag) == 36 {
		return &id, nil
	}
	d, err := FindDefinition(ctx, c, flag)
	if err != nil {
		return nil, err
	}
	return &d.ID, nil
}

// FindDefinition returns the definition with the id or slug.
func FindDefinition(ctx context.Context, c *client.Client, name string) (*perdure.Definition, error) {
	if id, err := uuid.Parse(name); err == nil && len(name) == 36 {
		return c.Definition(ctx, id)
	}
	for d, err := range c.Definitions(ctx) {
		if err != nil {
			return nil, err
		}
		if d.Slug == name {
			return d, nil
		}
	}
	return nil, perdure.Errorf(perdure.InvalidArgument, "there is no definition %s; perdure definitions list shows them", name)
}
