package runs

import (
	"bufio"
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
		line, ok, err := w.readLine(ctx)
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

// readLine reads a line. It returns early if ctx ends; the read then continues in the background
// until the program ends.
func (w *watcher) readLine(ctx context.Context) (string, bool, error) {
	type read struct {
		text string
		ok   bool
	}
	if w.input == nil {
		w.input = bufio.NewScanner(w.Stdin)
		w.input.Buffer(nil, 8<<20)
	}
	got := make(chan read, 1)
	go func() {
		ok := w.input.Scan()
		got <- read{w.input.Text(), ok}
	}()
	select {
	case r := <-got:
		if !r.ok {
			return "", false, w.input.Err()
		}
		return r.text, true, nil
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
}
