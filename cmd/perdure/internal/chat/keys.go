package chat

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/cmd/perdure/internal/watcher"
)

// twiceWithin is the maximum time between two interrupts of the process with which the second one ends
// the chat.
const twiceWithin = 5 * time.Second

// escape handles Esc. If the terminal asks a question that the user may leave, escape leaves that
// question open. Otherwise it stops the turn. It does not block.
func (s *session) escape() {
	if asked := s.askedNow(); asked != nil && asked.leavable {
		asked.stop(errLeftOpen)
		return
	}
	if s.isBusy() {
		go s.stopTurn()
	}
}

// interrupt handles Ctrl-C: the first one stops the turn, the second one leaves the chat. It does not
// block.
func (s *session) interrupt(again bool) {
	if again {
		s.quit(errLeft)
		return
	}
	s.escape()
}

// pressed records an interrupt of the process. It reports whether the previous one came within
// twiceWithin.
func (s *session) pressed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := time.Since(s.interrupted) < twiceWithin
	s.interrupted = time.Now()
	return again
}

func (s *session) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy || s.asked != nil
}

// stopTurn asks the server to stop the turn of the run. That also ends a question that the terminal
// asks. The view shows the stop when the event arrives from the log.
func (s *session) stopTurn() {
	id := s.current()
	s.stops.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), watcher.StopTurnWithin)
	defer cancel()
	reply, err := s.client().Interrupt(ctx, id, perdure.Interrupt{})
	if err != nil {
		s.stops.Store(false)
		s.view.note(terminal.StyleWarn, "the turn was not stopped: "+terminal.ErrorMessage(err))
		return
	}
	if !reply.Stopped {
		s.stops.Store(false)
		s.view.note(terminal.StyleDim, "there was no turn to stop")
		return
	}
	if asked := s.askedNow(); asked != nil {
		asked.stop(errAnswerStopped)
	}
}

// Suspend calls f, which may use the terminal until it returns.
func (s *session) Suspend(f func() error) error { return s.ed.Suspend(f) }

// stoppedHere reports whether the user of the chat has asked to stop the turn, once for each request.
func (s *session) stoppedHere() bool { return s.stops.Swap(false) }
