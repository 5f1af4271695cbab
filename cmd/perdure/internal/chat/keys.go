package chat

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/cmd/perdure/internal/watcher"
)

// twiceWithin is the time within which a second interrupt signal to the process ends the chat.
// After a longer time, a signal counts as a first one again.
const twiceWithin = 5 * time.Second

// escape handles the key Esc. If the terminal asks a question that may be left unanswered, the
// terminal stops asking, and the question stays open. Otherwise escape stops the turn of the run,
// in the background.
func (s *session) escape() {
	if asked := s.askedNow(); asked != nil && asked.leavable {
		asked.stop(errLeftOpen)
		return
	}
	if s.isBusy() {
		go s.stopTurn()
	}
}

// interrupt handles Ctrl-C without blocking. The first Ctrl-C has the effect of Esc; the second,
// for which `again` is true, ends the chat.
func (s *session) interrupt(again bool) {
	if again {
		s.quit(errLeft)
		return
	}
	s.escape()
}

// pressed records the time of an interrupt signal to the process. It reports whether the previous signal
// was less than twiceWithin ago.
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

// stopTurn asks the server to stop the turn of the run. If the server stops the turn while the
// terminal asks a question, the terminal stops asking. The view reports the stop when the event
// about the stop arrives from the log.
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

// Suspend calls f while the chat does not use the terminal.
func (s *session) Suspend(f func() error) error { return s.ed.Suspend(f) }

// stoppedHere reports whether the user of this chat has asked to stop the turn. It returns true once for
// each such request.
func (s *session) stoppedHere() bool { return s.stops.Swap(false) }
