package engine

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/notify"
)

// WatchLeases implements [perdure.Dispatch].
func (d dispatch) WatchLeases(ctx context.Context, worker uuid.UUID, changed func()) error {
	hints, unsubscribe := d.e.Hints.Subscribe(notify.Leases(d.org, worker))
	defer unsubscribe()
	changed()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-hints:
			changed()
		}
	}
}
