package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

const (
	// openAgainFirst and openAgainMost are the first and the longest pause between two streams.
	openAgainFirst = 100 * time.Millisecond
	openAgainMost  = 10 * time.Second
	// openedWell is the time a stream must last before the next pause is short again.
	openedWell = time.Minute
)

// keepOpen keeps a stream to the server open until ctx ends: it calls open again, after a growing
// pause, whenever it returns. It logs failure once for a series of errors that another connection
// does not mend.
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
