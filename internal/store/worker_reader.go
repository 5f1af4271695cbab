package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// WorkerReader reads what servers have recorded about workers and queues.
type WorkerReader interface {
	// Workers lists workers of the org whose ids are greater than after, by id, with the work that
	// they have claimed. Workers that were last seen earlier than since are left out. The field
	// Connected is not set.
	Workers(ctx context.Context, org string, since perdure.Time, after uuid.UUID, limit int) ([]*perdure.WorkerInfo, error)
	// Queues lists queues of the org whose names are greater than after, by name. It includes queues
	// with pending or claimed work, paused queues, and queues from which a worker takes work that
	// was seen at the time since or later.
	Queues(ctx context.Context, org string, since perdure.Time, after string, limit int) ([]*perdure.QueueInfo, error)
	// QueuePauses lists the paused queues of the org, by name.
	QueuePauses(ctx context.Context, org string) ([]*perdure.QueuePause, error)
}

// MaxScannedHolds is the maximum number of claimed executions that are examined for a list of
// workers or queues. The same number limits the examined claimed tasks.
const MaxScannedHolds = 10_000
