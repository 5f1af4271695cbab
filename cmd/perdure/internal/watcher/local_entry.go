package watcher

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// withContent adds the content to an event about a transcript entry of a LOCAL run, because the log
// of such a run has no content. withContent reads the content from the worker that stores the
// content. If that worker is not connected, withContent returns the event unchanged.
func (w *Watcher) withContent(ctx context.Context, e client.Event) client.Event {
	if _, text := w.View.(*terminal.TextView); !text || e.Type != perdure.EventEntry {
		return e
	}
	_, entry, err := e.Record()
	if err != nil || entry.Type == perdure.EntryLLMCall || string(entry.Content) != string(perdure.OnWorker) {
		return e
	}
	stored, err := w.Entry(ctx, w.id, entry.ID)
	if err != nil || terminal.ContentOnWorker(stored.Content) {
		return e
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(e.Data, &members) != nil {
		return e
	}
	members["content"] = stored.Content
	if data, err := json.Marshal(members); err == nil {
		e.Data = data
	}
	return e
}
