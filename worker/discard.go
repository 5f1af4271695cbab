package worker

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// tellWithin bounds how long a discarded goroutine tries to tell the server.
const tellWithin = time.Second

// tellDiscarded tells the server that this worker keeps the goroutine no more,
// so that nobody waits for it to claim the execution first. A server that does
// not hear of it finds out by the next heartbeat.
func (w *Worker) tellDiscarded(r *run) {
	if w.isDraining() || r.live.Err() != nil {
		return // it polls no more, and has first claim on nothing
	}
	ctx, cancel := context.WithTimeout(r.live, tellWithin)
	defer cancel()
	if err := w.Dispatch.Release(ctx, perdure.Release{WorkerID: w.ID, Discarded: []uuid.UUID{r.id}}); err != nil {
		r.log().Debug("the server was not told of a discarded goroutine", "error", err)
	}
}

// askAgain reports whether a task that was asked for before is asked for once
// more: a key that lives for a time may stand for a new one by now, and the
// server knows. What was learned of it is forgotten; the answer brings it back.
func (r *run) askAgain(t perdure.NewTask) bool {
	if t.Options.KeyTTL == 0 {
		return false
	}
	same := func(p perdure.NewTask) bool { return p.Key == t.Key }
	if slices.ContainsFunc(r.pending.Tasks, same) {
		return false
	}
	r.tasks.drop(perdure.TaskID(t.Key))
	return true
}
