package watcher

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// sendInput reads the user's next line and sends it to the run. It returns false at the end of the input.
// If sending fails, the next call sends the same line again, with the same signal id.
func (w *Watcher) sendInput(ctx context.Context) (bool, error) {
	for w.unsent == "" {
		w.View.Prompt()
		line, ok, err := w.input.Read(ctx)
		if !ok || err != nil {
			return false, err
		}
		if line = strings.TrimSpace(line); line != "" {
			w.View.UserMessage(line)
			w.unsent, w.signalID = line, uuid.NewString()
		}
	}
	q := client.UserMessage(w.unsent)
	q.ID = w.signalID
	_, err := w.Signal(ctx, w.id, q)
	if err == nil {
		w.unsent = ""
	}
	return true, err
}

const (
	// unsentWithin is how long ReportUnsent waits for a line from standard input.
	unsentWithin = 100 * time.Millisecond
	// maxUnsent is how many characters ReportUnsent shows at most of a line that was not sent.
	maxUnsent = 60
)

// ReportUnsent is called at the end of a chat. If standard input is not a terminal, and has a line
// that was not sent to the run, ReportUnsent prints that line on standard error. It returns err,
// the error with which the chat ends. If err is nil and there is such a line, ReportUnsent returns
// an error.
func (w *Watcher) ReportUnsent(ctx context.Context, err error) error {
	if !w.Chat || ctx.Err() != nil || terminal.IsTerminal(w.Stdin) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, unsentWithin)
	defer cancel()
	line := w.unsent
	for line == "" {
		text, ok, readErr := w.input.Read(ctx)
		if !ok || readErr != nil {
			return err
		}
		line = text
	}
	_ = w.Stderr.Linef("perdure: the chat has ended, and this line was not sent (%d characters), nor any after it: %s", utf8.RuneCountInString(line), terminal.Cut(terminal.Inline(line), maxUnsent))
	if err == nil {
		return setup.ExitWith(setup.ExitFailed)
	}
	return err
}
