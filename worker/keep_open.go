package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

const (
	// openAgainFirst and openAgainMost are the first and the longest pause before a stream is
	// opened again.
	openAgainFirst = 100 * time.Millisecond
	openAgainMost  = 10 * time.Second
	// openedWell is the time that a stream must stay open so that the next pause is short again.
	openedWell = time.Minute
)

// keepOpen keeps a stream to the server open until ctx ends. Whenever the function open returns, it
// calls open again after a growing pause. The text failure is logged once for a series of errors
// that another connection does not mend.
func (w *Worker) keepOpen(ctx context.Context, failure string, open func() error) {
	for pause, told := openAgainFirst, false; ctx.Err() == nil; pause = min(2*pause, openAgainMost) {
		began := time.Now()
		err := open()
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > openedWell {
			pause, told = openAgainFirst, false
		}
		if !told && err != nil && !perdure.IsCode(err, perdure.Unavailable) {
			told = true
			w.Logger.Warn(failure, "error", err)
		}
		rest(ctx, pause)
	}
}
