package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

const (
	// openAgainFirst is the first pause before a stream is opened again, and openAgainMost is the longest.
	openAgainFirst = 100 * time.Millisecond
	openAgainMost  = 10 * time.Second
	// openedWell is how long a stream must have been open for the next pause to be openAgainFirst
	// again.
	openedWell = time.Minute
)

// keepOpen keeps a stream to the server open until ctx ends. Whenever the function `open` returns,
// keepOpen calls it again after a pause; the pauses grow. At the first error other than
// unavailable, it logs a line with the text `failure`. It logs the next line only after a stream
// has been open for openedWell.
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
