package watcher

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// errDecided is the cause with which the context of whileOpen ends: the question is decided, so the
// command need not read an answer any more.
var errDecided = errors.New("the question is decided")

// whileOpen returns a context for the time during which a question is open. The context ends with
// errDecided when the log says that the question was decided or that the run has ended. The caller
// must call stop.
func (w *Watcher) whileOpen(ctx context.Context, id uuid.UUID) (open context.Context, stop func()) {
	open, cancel := context.WithCancelCause(ctx)
	c, cursor := w.Client, w.Cursor
	var reads sync.WaitGroup
	reads.Go(func() {
		for e, err := range c.Follow(open, w.id, cursor) {
			if err != nil {
				return // the user's answer then fails with the reason when it is sent
			}
			if e.Type.Ends() || decides(e, id) {
				cancel(errDecided)
				return
			}
		}
	})
	return open, func() {
		cancel(nil)
		reads.Wait()
	}
}

// decides reports whether an event says that the question with the id was answered, has expired or
// was withdrawn.
func decides(e client.Event, id uuid.UUID) bool {
	switch e.Type {
	case perdure.EventQuestionAnswered, perdure.EventQuestionExpired, perdure.EventQuestionWithdrawn:
	default:
		return false
	}
	var d struct {
		ID uuid.UUID `json:"questionId"`
	}
	return e.Decode(&d) == nil && d.ID == id
}

// showDecided shows what became of a question that the terminal has asked.
func (w *Watcher) showDecided(ctx context.Context, id uuid.UUID) error {
	q, err := w.Question(ctx, id)
	if err != nil {
		return err
	}
	if w.Session == nil {
		_ = w.Stdout.Linef("") // ends the line of the prompt
	}
	text := "the question is not open any more: "
	if q.Status == perdure.QuestionAnswered {
		text = "answered elsewhere: "
	}
	_ = w.Stderr.Linef("perdure: %s%s", text, terminal.QuestionOutcome(q))
	return nil
}
