package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// SweepReader finds the work for a server's sweeps, such as timers and expired data.
type SweepReader interface {
	// Due returns when the next timed work of each kind is due. It needs one query.
	Due(ctx context.Context, q DueQuery) (Due, error)
	// HeldBy returns the executions of the org on which the worker has a lease.
	HeldBy(ctx context.Context, org string, worker uuid.UUID) ([]uuid.UUID, error)

	// Orgs lists the orgs that have executions.
	Orgs(ctx context.Context) ([]string, error)
	// Prunable returns a page of executions with data whose retention period is over. It may leave
	// out executions that only an expensive search would find; a later query finds them.
	Prunable(ctx context.Context, q PruneQuery) (Page[Prunable], error)
	// Unused returns the number of unused pages of the store's database, and the size of a page in
	// bytes. It returns 0 if the store cannot free unused pages.
	Unused(ctx context.Context) (pages, pageSize int64, err error)

	// ExpiredLinks returns at most `limit` expired links to questions, in the order in which they
	// expired.
	ExpiredLinks(ctx context.Context, now perdure.Time, limit int) ([]*perdure.QuestionLink, error)
	// DeadStreams reports whether rows of deleted streams remain.
	DeadStreams(ctx context.Context) (bool, error)

	// DueWebhooks returns enabled webhooks that have a due delivery, ordered by id. It returns at
	// most `limit` webhooks whose ids are greater than `after`.
	DueWebhooks(ctx context.Context, now perdure.Time, after uuid.UUID, limit int) ([]*perdure.Webhook, error)
	// Overdue returns at most `limit` enabled webhooks that have more than perdure.MaxUndelivered
	// pending deliveries.
	Overdue(ctx context.Context, limit int) ([]*perdure.Webhook, error)
	// OldDeliveries reports whether Changes.SweepDeliveries would delete something.
	OldDeliveries(ctx context.Context, now perdure.Time) (bool, error)
}

// DueQuery is a query for [SweepReader].Due.
type DueQuery struct {
	// Since is a lower bound for Due.Ready: times up to Since are ignored.
	Since perdure.Time
	// Leases adds PickExpiredAgents and PickExpiredTasks to the result. The cost of finding these
	// two grows with the number of workers and queues that have claimed work. The cost of the rest
	// of the query is constant.
	Leases bool
}

// Due contains the times at which timed work is due. When such a time is reached, a sweep may
// nevertheless find no work.
type Due struct {
	// At contains, for each PickKind, the time at which the first candidate is due. A kind without
	// candidates is left out. The time of PickAttempts is an AttemptDue. A pick finds the task only
	// when Pick.Grace has passed after that time. PickEmbedded and PickPruned are never in the map,
	// because they do not depend on time.
	At map[PickKind]perdure.Time
	// Ready is the earliest NotBefore of a PENDING execution or task that is later than
	// DueQuery.Since. It is the zero time if there is none.
	Ready perdure.Time
}
