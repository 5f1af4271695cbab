package watcher

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// stopsTurns lets the first Ctrl-C stop the current turn, after which the command reads the user's
// next input. The second Ctrl-C leaves the run, as in other commands.
func (w *Watcher) stopsTurns(ctx context.Context) (release func()) {
	if !w.Chat || w.Session != nil {
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

// StopTurnWithin is the time in which the server must accept the request to stop the turn.
const StopTurnWithin = 10 * time.Second

func (w *Watcher) stopTurn(ctx context.Context) {
	_ = w.Stderr.Linef("\nperdure: Ctrl-C again leaves the run")
	w.stops.Store(true)
	ctx, cancel := context.WithTimeout(ctx, StopTurnWithin)
	defer cancel()
	reply, err := w.Interrupt(ctx, w.id, perdure.Interrupt{})
	if err != nil || !reply.Stopped {
		w.stops.Store(false)
	}
	if err != nil && ctx.Err() == nil {
		_ = w.Stderr.Linef("perdure: the turn was not stopped: %v", err)
	}
}
