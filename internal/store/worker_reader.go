package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// WorkerReader reads what servers have recorded about workers and queues.
type WorkerReader interface {
	// Workers lists workers of the org whose ids are greater than `after`, ordered by id. Each
	// worker contains the list of its claimed work; the field Connected is not set. Workers that
	// were last seen before the time `since` are left out.
	Workers(ctx context.Context, org string, since perdure.Time, after uuid.UUID, limit int) ([]*perdure.WorkerInfo, error)
	// Queues lists queues of the org whose names are greater than `after`, ordered by name. A queue
	// is listed if it has pending or claimed work, if it is paused, or if a worker that was seen at
	// the time `since` or later takes work from it.
	Queues(ctx context.Context, org string, since perdure.Time, after string, limit int) ([]*perdure.QueueInfo, error)
	// QueuePauses lists the paused queues of the org, by name.
	QueuePauses(ctx context.Context, org string) ([]*perdure.QueuePause, error)
}

// MaxScannedHolds limits what is examined for a list of workers or queues: at most this number of
// claimed executions, and at most this number of claimed tasks.
const MaxScannedHolds = 10_000
