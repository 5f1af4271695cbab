package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/questions"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/cmd/perdure/internal/watcher"
)

// askedHere is a question that the terminal asks, at one of its prompts.
type askedHere struct {
	question *perdure.Question
	prompt   questions.Prompt
	// leavable is set if the user may leave the question open.
	leavable bool
	answers  chan string
	stop     context.CancelCauseFunc
	done     <-chan struct{} // closed when the terminal no longer asks the question
}

// show shows the prompt.
func (q *askedHere) show(out *terminal.Screen) { _, _ = fmt.Fprint(out, q.prompt.Text) }

// ReadAnswer reads the next input as a line of the answer to a question. Error: errSetAside if
// another question is to be asked first.
func (s *session) ReadAnswer(ctx context.Context, question *perdure.Question, p questions.Prompt, leavable bool) (text string, ok bool, err error) {
	ask, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	q := &askedHere{question: question, prompt: p, leavable: leavable, answers: make(chan string), stop: stop, done: ask.Done()}
	s.setAsked(q)
	select {
	case text = <-q.answers:
		ok = true
	case <-ask.Done():
		err = context.Cause(ask)
	}
	s.unsetAsked(func() {
		if ok {
			_ = s.Stdout.Linef("%s", text) // ends the line of the prompt
			return
		}
		_ = s.Stdout.EraseOpen()
	})
	return text, ok, err
}

// setAsked shows the prompt of a question that the terminal asks from now on.
func (s *session) setAsked(q *askedHere) {
	s.view.locked(func(*terminal.TextView) {
		q.show(s.Stdout)
		s.mu.Lock()
		s.asked = q
		if s.next != uuid.Nil {
			q.stop(errSetAside)
		}
		s.mu.Unlock()
	})
	s.showStatus()
}

// unsetAsked records that the terminal no longer asks a question. The function end ends the line of the
// prompt.
func (s *session) unsetAsked(end func()) {
	s.view.locked(func(*terminal.TextView) {
		s.mu.Lock()
		s.asked = nil
		s.mu.Unlock()
		end()
	})
	s.showStatus()
}

// askedNow returns the question that the terminal asks; nil if there is none.
func (s *session) askedNow() *askedHere {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// answer passes an input to the question that the terminal asks.
func (s *session) answer(ctx context.Context, q *askedHere, text string) error {
	select {
	case q.answers <- text:
	case <-q.done:
		return errors.New("the question is not asked any more; nothing was sent")
	case <-ctx.Done():
	}
	return nil
}

// chooseNext selects the question that the terminal asks next. It interrupts, with errSetAside, the
// question that is asked now or the following of events.
func (s *session) chooseNext(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = id
	switch {
	case s.asked != nil:
		s.asked.stop(errSetAside)
	case s.pause != nil:
		s.pause(errSetAside)
	}
}

// SetAside returns errSetAside if the user has chosen the question to be asked next.
func (s *session) SetAside() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == uuid.Nil {
		return nil
	}
	return errSetAside
}

// followEvents calls Follow of the watcher, and interrupts it when the user chooses a question. The
// events that arrive while the question is asked are shown afterwards. Error: errSetAside.
func (s *session) followEvents(ctx context.Context, w *watcher.Watcher) (perdure.Status, error) {
	events, pause := context.WithCancelCause(ctx)
	defer pause(nil)
	s.setPause(pause)
	defer s.setPause(nil)
	if err := s.SetAside(); err != nil {
		return "", err
	}
	status, err := w.Follow(events)
	if status == "" && errors.Is(context.Cause(events), errSetAside) {
		return "", errSetAside
	}
	return status, err
}

func (s *session) setPause(pause context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pause = pause
}

// askNext asks the question that the user has chosen. It returns only errors that the loop of follow
// handles; it shows others.
func (s *session) askNext(ctx context.Context, w *watcher.Watcher) error {
	s.mu.Lock()
	id := s.next
	s.next = uuid.Nil
	s.mu.Unlock()
	_, err := w.AskOne(ctx, id)
	switch {
	case err == nil, errors.Is(err, errSetAside):
		return nil
	case ctx.Err() != nil, errors.Is(err, errAnswerStopped), w.OwnerGone(err):
		return err
	case errors.Is(err, errLeftOpen):
		s.view.note(terminal.StyleDim, "the question stays open; /approve "+id.String()[:shortIDLength]+" asks it again")
	default:
		s.view.note(terminal.StyleError, terminal.ErrorMessage(err))
	}
	return nil
}
