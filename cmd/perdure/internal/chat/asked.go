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

// askedHere is a question that the terminal is asking, with the prompt that is shown.
type askedHere struct {
	question *perdure.Question
	prompt   questions.Prompt
	// leavable is set if the user may stop answering the question, which then stays open.
	leavable bool
	answers  chan string
	stop     context.CancelCauseFunc
	done     <-chan struct{} // closed when the terminal no longer asks the question
}

// show prints the prompt of the question.
func (q *askedHere) show(out *terminal.Screen) { _, _ = fmt.Fprint(out, q.prompt.Text) }

// ReadAnswer shows a prompt and returns the next line that the user enters, as a part of the answer to the
// question. Error: errSetAside, if the user chooses another question first.
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

// setAsked records the question that the terminal begins to ask, and shows the prompt.
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

// unsetAsked records that the terminal no longer asks a question. It calls the function `end`,
// which ends the line of the prompt.
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

// answer passes a line of input to the question that the terminal is asking.
func (s *session) answer(ctx context.Context, q *askedHere, text string) error {
	select {
	case q.answers <- text:
	case <-q.done:
		return errors.New("the question is not asked any more; nothing was sent")
	case <-ctx.Done():
	}
	return nil
}

// chooseNext sets the question that the terminal asks next. If the terminal is asking another
// question or following the log, chooseNext ends the asking or the following with errSetAside.
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

// SetAside returns errSetAside if the user has chosen a question that the terminal is to ask next;
// otherwise nil.
func (s *session) SetAside() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == uuid.Nil {
		return nil
	}
	return errSetAside
}

// followEvents follows the log of the run, until the user chooses a question to answer. Events that arrive
// while the terminal asks that question are shown afterwards. Error: errSetAside.
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

// askNext asks the question that the user has chosen. It returns an error only if the chat has to
// stop following the run. It shows other errors to the user.
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
