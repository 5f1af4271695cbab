package engine

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
)

// No work of a paused queue is claimed: not by a poll, and not in the reply to a commit or to the
// end of a task. Work that was claimed before continues. Every server reads the paused queues again
// after a hint, and at least once per second.

// PauseQueue pauses a queue of an org. Once PauseQueue has returned, this server claims no more
// executions and tasks of the queue. Errors: invalid_argument, conflict.
func (e *Engine) PauseQueue(ctx context.Context, org, queue string) (*perdure.QueuePause, error) {
	defer e.ForgetPauses()
	return e.Tenants.PauseQueue(ctx, org, queue)
}

// ResumeQueue ends the pause of a queue of an org. Errors: invalid_argument.
func (e *Engine) ResumeQueue(ctx context.Context, org, queue string) error {
	defer e.ForgetPauses()
	return e.Tenants.ResumeQueue(ctx, org, queue)
}

// openQueues returns the given queues without those that are paused in the org.
func (e *Engine) openQueues(ctx context.Context, org string, queues []string) ([]string, error) {
	paused, err := e.PausedQueues(ctx, org)
	return without(queues, paused), err
}

// without returns the queues that are not in the map `paused`.
func without(queues []string, paused map[string]bool) []string {
	if len(paused) == 0 {
		return queues
	}
	return slices.DeleteFunc(slices.Clone(queues), func(q string) bool { return paused[q] })
}

// keepPauses reads paused queues again after each hint, until ctx ends.
func (e *Engine) keepPauses(ctx context.Context) {
	hints, unsubscribe := e.Hints.Subscribe(notify.Pauses)
	defer unsubscribe()
	for {
		select {
		case <-hints:
			e.ForgetPauses()
		case <-ctx.Done():
			return
		}
	}
}
