package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

const (
	// serveAgainFirst and serveAgainMost are the first and the longest pause between two
	// connections.
	serveAgainFirst = 100 * time.Millisecond
	serveAgainMost  = 10 * time.Second
	// servedWell is the time a connection must last before the next pause is short again.
	servedWell = time.Minute
)

// serveContents serves the contents of LOCAL executions to the server until ctx ends. It connects
// again, after a growing pause, whenever the connection ends.
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

// sweepEvery is the pause between two sweeps of the worker's local store.
const sweepEvery = time.Hour

// sweepContents removes contents that are no longer needed from the worker's local store, once per
// sweepEvery, until ctx ends.
func (w *Worker) sweepContents(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.localDispatch.Sweep(ctx); err != nil && ctx.Err() == nil {
			w.Logger.Info("could not find out which contents are needed no longer; trying again later", "error", err)
		}
		rest(ctx, sweepEvery)
	}
}
