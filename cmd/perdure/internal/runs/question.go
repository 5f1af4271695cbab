package runs

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/questions"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// Values of waitReason. At the first two of them a command stops following.
const (
	waitsForSignal   = "signal"
	waitsForQuestion = "question"
	waitsForTimer    = "timer"
)

// openQuestions returns the open questions of a run, oldest first.
func openQuestions(ctx context.Context, c *client.Client, run uuid.UUID, mine bool) ([]*perdure.Question, error) {
	p, err := c.QuestionsPage(ctx, client.QuestionFilter{
		Status: []perdure.QuestionStatus{perdure.QuestionOpen}, ExecutionID: &run, Mine: mine,
	}, client.PageOptions{Limit: perdure.MaxOpenQuestions})
	return oldestFirst(p.Items), err
}

// allQuestions returns the questions of a run, oldest first.
func allQuestions(ctx context.Context, c *client.Client, run uuid.UUID) ([]*perdure.Question, error) {
	all := []*perdure.Question{}
	for q, err := range c.Questions(ctx, client.QuestionFilter{ExecutionID: &run}) {
		if perdure.IsCode(err, perdure.NotFound) {
			return all, nil // a server of an earlier version
		}
		if err != nil {
			return nil, err
		}
		all = append(all, q)
	}
	return oldestFirst(all), nil
}

func oldestFirst(all []*perdure.Question) []*perdure.Question {
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// asks reports whether the command asks in place: it has a terminal for text.
func (w *watcher) asks() bool {
	a := w.RunConn.App
	return !a.JSON && !a.Quiet && terminal.IsTerminal(w.Stdin) && terminal.IsTerminal(w.Stdout)
}

// askInPlace shows the run's open questions to the person at the terminal, until the run continues.
// It reports whether the run continues.
func (w *watcher) askInPlace(ctx context.Context) (bool, error) {
	for {
		if w.session != nil {
			if err := w.session.setAside(); err != nil {
				return false, err
			}
		}
		x, err := w.Get(ctx, w.id)
		if err != nil || x.Status != perdure.StatusWaiting || x.WaitReason != waitsForQuestion {
			return true, err
		}
		open, err := openQuestions(ctx, w.Client, w.id, true)
		if err != nil || len(open) == 0 {
			return false, err
		}
		answered, err := w.askOne(ctx, open[0].ID)
		if err != nil || !answered {
			return false, err
		}
	}
}

// askOne asks one question. It reports false at the end of the input.
func (w *watcher) askOne(ctx context.Context, id uuid.UUID) (bool, error) {
	q, err := w.Question(ctx, id)
	if err != nil {
		return false, err
	}
	details, err := questions.Details(ctx, w.Client, q)
	if err != nil {
		return false, err
	}
	t := questions.Terminal{Out: w.Stdout, Edit: w.editFile, Headed: w.headed, ReadLine: func(ctx context.Context, p questions.Prompt) (string, bool, error) {
		return w.readAnswer(ctx, q, p)
	}}
	for {
		r, ok, err := t.Ask(ctx, q, details)
		if !ok || err != nil {
			return false, err
		}
		_, err = questions.Send(ctx, w.Client, q, details, r)
		var late *client.DecidedError
		switch {
		case errors.As(err, &late):
			_ = w.Stderr.Linef("perdure: it was decided before: %s", terminal.QuestionOutcome(late.Question))
			return true, nil
		case perdure.IsCode(err, perdure.InvalidArgument), perdure.IsCode(err, perdure.DetailsChanged):
			_ = w.Stderr.Linef("perdure: %s", terminal.ErrorMessage(err))
		default:
			return err == nil, err
		}
	}
}

// headed reports whether the last lines that the view has printed are the heading of a question.
func (w *watcher) headed(q *perdure.Question) bool {
	v, ok := w.view.(interface {
		Headed(q *perdure.Question) bool
	})
	return ok && v.Headed(q)
}

// readAnswer reads a line of the answer to a question.
func (w *watcher) readAnswer(ctx context.Context, q *perdure.Question, p questions.Prompt) (string, bool, error) {
	if w.session != nil {
		return w.session.readAnswer(ctx, &askedHere{question: q, prompt: p, leavable: w.status == ""})
	}
	if _, err := fmt.Fprint(w.Stdout, p.Text); err != nil {
		return "", false, err
	}
	return w.input.read(ctx)
}

// editFile lets the person change a text in an editor, which gets the terminal meanwhile.
func (w *watcher) editFile(ctx context.Context, text []byte) (changed []byte, err error) {
	if w.session == nil {
		return questions.EditFile(ctx, text)
	}
	err = w.session.ed.Suspend(func() error {
		changed, err = questions.EditFile(ctx, text)
		return err
	})
	return changed, err
}
