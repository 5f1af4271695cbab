package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// WorkerReader reads what servers have recorded about workers and queues.
type WorkerReader interface {
	// Workers lists workers of the org whose ids are greater than after, by id, with the work that
	// they have claimed. Workers that were last seen before since are left out. Connected is not
	// set.
	Workers(ctx context.Context, org string, since perdure.Time, after uuid.UUID, limit int) ([]*perdure.WorkerInfo, error)
	// Queues lists queues of the org whose names are greater than after, by name: queues with
	// pending or claimed work, queues from which workers seen since then take work, and paused
	// queues.
	Queues(ctx context.Context, org string, since perdure.Time, after string, limit int) ([]*perdure.QueueInfo, error)
	// QueuePauses lists the paused queues of the org, by name.
	QueuePauses(ctx context.Context, org string) ([]*perdure.QueuePause, error)
}

// MaxScannedHolds is the maximum number of claimed executions, and of claimed tasks, that a list of
// workers or queues examines.
const MaxScannedHolds = 10_000
