package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

// maxPoll is the maximum number of claims for which one poll asks. Slots for all of them are reserved while
// the poll waits.
const maxPoll = 8

// pollAgents claims executions and starts their runs until ctx ends. The contexts of the runs
// derive from `live`, a context that ends later.
func (w *Worker) pollAgents(ctx, live context.Context) {
	pollLoop(ctx, w, w.agentSlots, kinds(w.agents), w.Dispatch.PollAgents, func(c perdure.AgentClaim, sent time.Duration) {
		w.dateAgent(&c, sent)
		w.startRun(live, c)
	})
}

// pollTasks claims tasks and starts their attempts until ctx ends. The contexts of the attempts
// derive from `live`, a context that ends later.
func (w *Worker) pollTasks(ctx, live context.Context) {
	pollLoop(ctx, w, w.taskSlots, kinds(w.tasks), w.Dispatch.PollTasks, func(c perdure.TaskClaim, sent time.Duration) {
		w.dateTask(&c, sent)
		w.startAttempt(live, c)
	})
}

// pollLoop reserves slots, polls for claims, and starts the claimed work, until ctx ends. The
// started work releases its slot when it ends.
func pollLoop[T any](ctx context.Context, w *Worker, s slots, kinds []string, poll func(context.Context, perdure.Poll) ([]T, error), start func(c T, sent time.Duration)) {
	failures := 0
	for s.acquire(ctx) {
		if ctx.Err() != nil {
			s.release(1)
			return
		}
		held := 1 + s.try(min(maxPoll, s.offer())-1)
		sent := w.Clock()
		claims, err := poll(ctx, perdure.Poll{WorkerID: w.ID, Queues: w.Queues, Kinds: kinds, Slots: held, Wait: w.PollWait, Ended: !w.Plain, Features: perdure.AllFeatures})
		for _, c := range claims {
			start(c, sent)
		}
		s.release(held - len(claims))
		if ctx.Err() == nil {
			w.reached(err)
		}
		if err == nil {
			failures = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if failures++; failures == 1 || failures%20 == 0 {
			w.Logger.Warn("cannot reach the server for work; trying on", "error", err, "failures", failures)
		}
		rest(ctx, min(time.Duration(failures)*100*time.Millisecond, 5*time.Second))
	}
}

// rest waits for the duration d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
