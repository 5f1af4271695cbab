package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// CatalogReader reads the definitions and kinds of an org.
type CatalogReader interface {
	Definition(ctx context.Context, org string, id uuid.UUID) (*perdure.Definition, error)
	DefinitionBySlug(ctx context.Context, org, slug string) (*perdure.Definition, error)
	Definitions(ctx context.Context, org string, cursor string, limit int) (Page[*perdure.Definition], error)

	Kinds(ctx context.Context, org string) ([]Kind, error)
	// AgentKind returns a kind of agents of the org, by the name of the kind. Errors: not_found if
	// there is none.
	AgentKind(ctx context.Context, org, kind string) (*Kind, error)
}
