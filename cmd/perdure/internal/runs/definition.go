package runs

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

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
