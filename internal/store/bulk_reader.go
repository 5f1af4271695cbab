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
	// RunningBulk lists at most `limit` running bulk actions of all orgs, ordered by org and id. If
	// `after` is not nil, the list begins after that bulk action.
	RunningBulk(ctx context.Context, after *perdure.BulkAction, limit int) ([]*perdure.BulkAction, error)
	// BulkExecutions returns the ids of the executions of a running bulk action, in the order in
	// which they are processed. When the bulk action has ended, it returns none.
	BulkExecutions(ctx context.Context, org string, id uuid.UUID) ([]uuid.UUID, error)
}
