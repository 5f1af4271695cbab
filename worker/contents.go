package worker

import (
	"context"
	"time"
)

// serveContents serves the server's requests for contents of LOCAL executions until ctx ends.
func (w *Worker) serveContents(ctx context.Context) {
	w.keepOpen(ctx, "the server cannot ask this worker for contents; trying on", func() error {
		return w.Dispatch.ServeContents(ctx, w.ID, w.Local)
	})
}

// sweepEvery is the pause between two sweeps of the worker's local store.
const sweepEvery = time.Hour

// sweepContents removes contents that are no longer needed from the worker's local store. It does
// so once per sweepEvery until ctx ends.
func (w *Worker) sweepContents(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.localDispatch.Sweep(ctx); err != nil && ctx.Err() == nil {
			w.Logger.Info("could not find out which contents are needed no longer; trying again later", "error", err)
		}
		rest(ctx, sweepEvery)
	}
}
