package worker

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// tellWithin is how long a worker tries to notify the server of a discarded goroutine.
const tellWithin = time.Second

// tellDiscarded tells the server that this worker has discarded the goroutine of a suspended
// execution. The server then no longer prefers this worker for the execution. If the message is
// lost, the next heartbeat tells the server the same.
func (w *Worker) tellDiscarded(r *run) {
	if w.isDraining() || r.live.Err() != nil {
		return // a worker that stops does not poll, so the server hands nothing over to it
	}
	ctx, cancel := context.WithTimeout(r.live, tellWithin)
	defer cancel()
	if err := w.Dispatch.Release(ctx, perdure.Release{WorkerID: w.ID, Discarded: []uuid.UUID{r.id}}); err != nil {
		r.log().Debug("the server was not told of a discarded goroutine", "error", err)
	}
}

// askAgain reports whether the worker must ask the server for the task t again, although the run
// already knows a task with its key. It returns true if the key has a TTL, because the key may by
// now stand for a new task, unless the pending commit already contains a task with this key. If the
// result is true, askAgain drops what the run knows about the task; the reply to the commit
// contains the new state.
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
