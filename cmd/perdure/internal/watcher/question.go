package watcher

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/questions"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// asks reports whether the command itself asks the run's questions: input and output are a terminal,
// and the output is text for people.
func (w *Watcher) asks() bool {
	a := w.RunConn.App
	return !a.JSON && !a.Quiet && terminal.IsTerminal(w.Stdin) && terminal.IsTerminal(w.Stdout)
}

// askInPlace asks the person at the terminal the run's open questions, one after another. It returns
// true if the run no longer waits for a question, and false if no question is open or the input ends.
func (w *Watcher) askInPlace(ctx context.Context) (bool, error) {
	for {
		if w.Session != nil {
			if err := w.Session.SetAside(); err != nil {
				return false, err
			}
		}
		x, err := w.Get(ctx, w.id)
		if err != nil || x.Status != perdure.StatusWaiting || x.WaitReason != lookup.WaitsForQuestion {
			return true, err
		}
		open, err := lookup.OpenQuestions(ctx, w.Client, w.id, true)
		if err != nil || len(open) == 0 {
			return false, err
		}
		answered, err := w.AskOne(ctx, open[0].ID)
		if err != nil || !answered {
			return false, err
		}
	}
}

// AskOne asks one question. The result is false at the end of the input.
func (w *Watcher) AskOne(ctx context.Context, id uuid.UUID) (bool, error) {
	q, err := w.Question(ctx, id)
	if err != nil {
		return false, err
	}
	if q.Status.Final() {
		return true, w.showDecided(ctx, id)
	}
	details, err := questions.Details(ctx, w.Client, q)
	if err != nil {
		return false, err
	}
	open, stop := w.whileOpen(ctx, q.ID)
	defer stop()
	t := questions.Terminal{Out: w.Stdout, Edit: w.editFile, Headed: w.headed, ReadLine: func(_ context.Context, p questions.Prompt) (string, bool, error) {
		return w.readAnswer(open, q, p) // only the reading ends with the question; an editor, which has the terminal, does not
	}}
	for {
		r, ok, err := t.Ask(ctx, q, details)
		if errors.Is(err, errDecided) {
			return true, w.showDecided(ctx, q.ID)
		}
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

// headed reports whether the heading of the question is the last thing that the view has printed.
func (w *Watcher) headed(q *perdure.Question) bool {
	v, ok := w.View.(interface {
		Headed(q *perdure.Question) bool
	})
	return ok && v.Headed(q)
}

// readAnswer reads a line of the answer to a question.
func (w *Watcher) readAnswer(ctx context.Context, q *perdure.Question, p questions.Prompt) (string, bool, error) {
	if w.Session != nil {
		return w.Session.ReadAnswer(ctx, q, p, w.Status == "")
	}
	if _, err := fmt.Fprint(w.Stdout, p.Text); err != nil {
		return "", false, err
	}
	return w.input.Read(ctx)
}

// editFile lets the person change a text in an editor, which uses the terminal until the editor
// ends.
func (w *Watcher) editFile(ctx context.Context, text []byte) (changed []byte, err error) {
	if w.Session == nil {
		return questions.EditFile(ctx, text)
	}
	err = w.Session.Suspend(func() error {
		changed, err = questions.EditFile(ctx, text)
		return err
	})
	return changed, err
}
