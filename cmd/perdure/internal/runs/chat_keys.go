package runs

import (
	"context"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// twiceWithin is the time in which a second interrupt of the process counts as the second one.
const twiceWithin = 5 * time.Second

// escape stops the turn, because the user has pressed Esc. It does not block.
func (s *chatSession) escape() {
	if s.isBusy() {
		go s.stopTurn()
	}
}

// interrupt handles Ctrl-C: the first one stops the turn, the second one leaves the chat. It does not
// block.
func (s *chatSession) interrupt(again bool) {
	if again {
		s.quit(errLeft)
		return
	}
	s.escape()
}

// pressed reports whether the process has received an interrupt a moment ago.
func (s *chatSession) pressed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := time.Since(s.interrupted) < twiceWithin
	s.interrupted = time.Now()
	return again
}

func (s *chatSession) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busy || s.asked != nil
}

// stopTurn stops the turn of the run, and with it a question that the terminal asks.
func (s *chatSession) stopTurn() {
	id := s.current()
	s.view.note(terminal.StyleDim, "stopping the turn")
	ctx, cancel := context.WithTimeout(context.Background(), stopTurnWithin)
	defer cancel()
	if _, err := s.client().Interrupt(ctx, id, perdure.Interrupt{}); err != nil {
		s.view.note(terminal.StyleWarn, "the turn was not stopped: "+terminal.ErrorMessage(err))
		return
	}
	s.mu.Lock()
	asked := s.asked
	s.mu.Unlock()
	if asked != nil {
		asked.stop(errAnswerStopped)
	}
}

// askedHere is a question that the terminal asks.
type askedHere struct {
	answers chan string
	stop    context.CancelCauseFunc
	done    <-chan struct{} // closed when it is not asked any more
}

// readAnswer reads the next input as the answer to a question.
func (s *chatSession) readAnswer(ctx context.Context) (string, bool, error) {
	ask, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	asked := &askedHere{answers: make(chan string), stop: stop, done: ask.Done()}
	s.setAsked(asked)
	defer s.setAsked(nil)
	select {
	case text := <-asked.answers:
		_ = s.Stdout.Linef("%s", text) // ends the line of the question
		return text, true, nil
	case <-ask.Done():
		_ = s.Stdout.Linef("")
		return "", false, context.Cause(ask)
	}
}

func (s *chatSession) setAsked(q *askedHere) {
	s.mu.Lock()
	s.asked = q
	s.mu.Unlock()
	s.showStatus()
}
