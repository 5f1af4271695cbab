package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// WorkerReader reads what servers have recorded about workers and queues.
type WorkerReader interface {
	// Workers lists workers of the org whose ids are greater than the parameter after, ordered by
	// id. Each worker has the list of the work that it has claimed; its field Connected is not set.
	// A worker is left out if it was last seen at a time before the parameter since.
	Workers(ctx context.Context, org string, since perdure.Time, after uuid.UUID, limit int) ([]*perdure.WorkerInfo, error)
	// Queues lists queues of the org whose names are greater than the parameter after, ordered by
	// name. These are the queues with pending or claimed work and the paused queues. Queues from
	// which a worker takes work are listed, too, unless that worker was last seen at a time before
	// the parameter since.
	Queues(ctx context.Context, org string, since perdure.Time, after string, limit int) ([]*perdure.QueueInfo, error)
	// QueuePauses lists the paused queues of the org, by name.
	QueuePauses(ctx context.Context, org string) ([]*perdure.QueuePause, error)
}

// MaxScannedHolds is the maximum number of claimed executions that are examined for a list of
// workers or queues. It is also the maximum number of claimed tasks that are examined.
const MaxScannedHolds = 10_000
