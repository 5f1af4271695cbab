package server

import (
	"log/slog"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
)

// runLog writes a line to the server's log when an execution starts, waits for a signal or an answer, or
// ends. The lines have no contents of the execution.
type runLog struct{ *slog.Logger }

// Started implements engine.RunObserver.
func (l runLog) Started(r engine.Run) { l.line("a run started", r) }

// Waiting implements engine.RunObserver.
func (l runLog) Waiting(r engine.Run) {
	text := "a run waits for a signal"
	if r.Wait == perdure.WaitKindQuestion.String() {
		text = "a run waits for the answer to a question"
	}
	l.line(text, r)
}

// Ended implements engine.RunObserver.
func (l runLog) Ended(r engine.Run) {
	switch r.Status {
	case perdure.StatusFailed:
		l.line("a run failed", r, "code", r.Code)
	case perdure.StatusCancelled:
		l.line("a run was cancelled", r)
	default:
		l.line("a run completed", r)
	}
}

func (l runLog) line(text string, r engine.Run, more ...any) {
	l.Info(text, append([]any{"execution", r.ID, "org", r.Org, "kind", r.Kind}, more...)...)
}
