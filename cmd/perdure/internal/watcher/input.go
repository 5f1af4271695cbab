package watcher

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
)

// sendInput reads the user's next line and sends it to the run. It returns false at the end of the input.
// If sending fails, the next call sends the same line again, with the same signal id.
func (w *Watcher) sendInput(ctx context.Context) (bool, error) {
	for w.unsent == nil {
		w.View.Prompt()
		line, ok, err := w.input.Read(ctx)
		if !ok || err != nil {
			return false, err
		}
		if line = strings.TrimSpace(line); line != "" {
			w.View.UserMessage(line)
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
