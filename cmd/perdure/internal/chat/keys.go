package chat

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/cmd/perdure/internal/watcher"
)

// twiceWithin is the time in which a second interrupt of the process counts as the second one.
const twiceWithin = 5 * time.Second

// escape handles Esc: it leaves a question open that the user has chosen while the run works, and
// otherwise stops the turn. It does not block.
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

// pressed reports whether the process has received an interrupt a moment ago.
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

// stopTurn stops the turn of the run, and with it a question that the terminal asks. The view shows
// that it has stopped when the log says so.
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

// Suspend calls f, which has the terminal meanwhile.
func (s *session) Suspend(f func() error) error { return s.ed.Suspend(f) }

// stoppedHere reports whether the user of the chat has asked to stop the turn, once for each request.
func (s *session) stoppedHere() bool { return s.stops.Swap(false) }
