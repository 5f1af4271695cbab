package runs

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
)

// sendInput sends the user's next line. It returns false at the end of the input. If sending fails,
// the next call sends the same line with the same id.
func (w *watcher) sendInput(ctx context.Context) (bool, error) {
	for w.unsent == nil {
		w.view.Prompt()
		line, ok, err := w.input.read(ctx)
		if !ok || err != nil {
			return false, err
		}
		if line = strings.TrimSpace(line); line != "" {
			w.view.UserMessage(line)
			q := client.UserMessage(line)
			q.ID = uuid.NewString()
			w.unsent = &q
		}
	}
	_, err := w.Signal(ctx, w.id, *w.unsent)
	if err == nil {
		w.unsent = nil
	}
	return true, err
}
