package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

const (
	serveAgainFirst = 100 * time.Millisecond
	serveAgainMost  = 10 * time.Second
	// servedWell is the time a connection must last before the next pause is short again.
	servedWell = time.Minute
)

// serveContents lets the server request contents of LOCAL executions until ctx ends.
func (w *Worker) serveContents(ctx context.Context) {
	for pause, told := serveAgainFirst, false; ctx.Err() == nil; pause = min(2*pause, serveAgainMost) {
		began := time.Now()
		err := w.Dispatch.ServeContents(ctx, w.ID, w.Local)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > servedWell {
			pause, told = serveAgainFirst, false
		}
		if !told && err != nil && !perdure.IsCode(err, perdure.Unavailable) {
			told = true
			w.Logger.Warn("the server cannot ask this worker for contents; trying on", "error", err)
		}
		rest(ctx, pause)
	}
}

// sweepEvery is the time between two sweeps of the store.
const sweepEvery = time.Hour

// sweepContents regularly removes contents that are no longer needed from the store, until ctx
// ends.
func (w *Worker) sweepContents(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.kept.Sweep(ctx); err != nil && ctx.Err() == nil {
			w.Logger.Info("could not find out which contents are needed no longer; trying again later", "error", err)
		}
		rest(ctx, sweepEvery)
	}
}
