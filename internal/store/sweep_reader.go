package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// SweepReader finds the work of a server's sweeps.
type SweepReader interface {
	// Due returns when the next work by time is due. It needs one query.
	Due(ctx context.Context, q DueQuery) (Due, error)
	// HeldBy returns the executions of the org on which the worker has a lease.
	HeldBy(ctx context.Context, org string, worker uuid.UUID) ([]uuid.UUID, error)

	// Orgs lists the orgs that have executions.
	Orgs(ctx context.Context) ([]string, error)
	// Prunable returns a page of executions that hold more than the retention policies allow. It
	// may miss executions that only a more expensive search would find, and leave them to a later
	// query. It never returns too much.
	Prunable(ctx context.Context, q PruneQuery) (Page[Prunable], error)
	// Unused returns the number and the size of the store's unused pages; 0 if the store cannot
	// free them.
	Unused(ctx context.Context) (pages, pageSize int64, err error)

	// ExpiredLinks returns the links to questions that have expired first, at most limit.
	ExpiredLinks(ctx context.Context, now perdure.Time, limit int) ([]*perdure.QuestionLink, error)
	// DeadStreams reports whether rows of deleted streams remain.
	DeadStreams(ctx context.Context) (bool, error)

	// DueWebhooks returns at most limit enabled webhooks whose ids are greater than after and that
	// have a delivery which is due, by id.
	DueWebhooks(ctx context.Context, now perdure.Time, after uuid.UUID, limit int) ([]*perdure.Webhook, error)
	// Overdue returns enabled webhooks with more than perdure.MaxUndelivered pending deliveries, at
	// most limit.
	Overdue(ctx context.Context, limit int) ([]*perdure.Webhook, error)
	// OldDeliveries reports whether Changes.SweepDeliveries would delete something.
	OldDeliveries(ctx context.Context, now perdure.Time) (bool, error)
}

// DueQuery is a query for [SweepReader].Due.
type DueQuery struct {
	// Since is the moment after which a NotBefore counts.
	Since perdure.Time
	// Leases includes PickExpiredAgents and PickExpiredTasks. Their cost grows with the number of
	// workers and queues that hold something. All other costs are constant.
	Leases bool
}

// Due lists when work by time is due. An entry does not guarantee that there is work.
type Due struct {
	// At is the moment of each pick's first candidate. Picks without candidates are left out. The
	// moment of PickAttempts does not include a grace period. PickEmbedded and PickPruned do not
	// depend on time.
	At map[PickKind]perdure.Time
	// Ready is the earliest NotBefore after DueQuery.Since of anything PENDING; zero if there is
	// none.
	Ready perdure.Time
}
