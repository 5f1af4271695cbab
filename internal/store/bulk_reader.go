package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// BulkReader reads bulk actions.
type BulkReader interface {
	// BulkAction returns a bulk action of the org. Errors: not_found.
	BulkAction(ctx context.Context, org string, id uuid.UUID) (*perdure.BulkAction, error)
	// RunningBulk lists the bulk actions of all orgs that run, at most limit, by org and id. after,
	// if set, is the last one of the list before.
	RunningBulk(ctx context.Context, after *perdure.BulkAction, limit int) ([]*perdure.BulkAction, error)
	// BulkExecutions returns the ids of the executions of a bulk action that runs, in the order of
	// their turns; none after its end.
	BulkExecutions(ctx context.Context, org string, id uuid.UUID) ([]uuid.UUID, error)
}
