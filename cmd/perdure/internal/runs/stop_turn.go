package runs

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// stopsTurns lets the first Ctrl-C of a turn stop the turn, in a command that then reads the user's
// next input. The second Ctrl-C leaves the run, as in other commands.
func (w *watcher) stopsTurns(ctx context.Context) (release func()) {
	if !w.chat || w.session != nil {
		return func() {}
	}
	var stopped atomic.Bool
	return w.Interrupts.Handle(func() bool {
		if stopped.Swap(true) {
			return false
		}
		go w.stopTurn(ctx)
		return true
	})
}

// stopTurnWithin is the time in which the server must take the interrupt.
const stopTurnWithin = 10 * time.Second

func (w *watcher) stopTurn(ctx context.Context) {
	_ = w.Stderr.Linef("\nperdure: Ctrl-C again leaves the run")
	w.stops.Store(true)
	ctx, cancel := context.WithTimeout(ctx, stopTurnWithin)
	defer cancel()
	reply, err := w.Interrupt(ctx, w.id, perdure.Interrupt{})
	if err != nil || !reply.Stopped {
		w.stops.Store(false)
	}
	if err != nil && ctx.Err() == nil {
		_ = w.Stderr.Linef("perdure: the turn was not stopped: %v", err)
	}
}
