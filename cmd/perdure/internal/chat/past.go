package chat

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// maxPastContent is the maximum size in bytes of an entry's content that ShowPast reads separately.
// ShowPast does so if the server has left the content out of the list of entries.
const maxPastContent = 1 << 20

// ShowPast shows the newest part of the conversation that the chat continues, and the current state of its
// run.
func (s *session) ShowPast(ctx context.Context, snapshot *client.Snapshot) (err error) {
	x := snapshot.Execution
	s.mu.Lock()
	s.busy, s.failed = works(x), x.TurnFailed() // the state at the snapshot, after which the followed events begin
	s.mu.Unlock()
	s.showStatus()
	past := terminal.Past{Entries: snapshot.Entries, EntriesBefore: snapshot.EntriesBefore, Load: func(e *perdure.Entry) error {
		return s.loadPast(ctx, x, e)
	}}
	s.view.locked(func(t *terminal.TextView) { err = t.Past(x, past) })
	return err
}

// loadPast reads the content of an entry if the server has left it out because of its size. If the content
// is larger than maxPastContent, a remark takes its place. The content of a LOCAL run stays missing if its
// worker is not connected.
func (s *session) loadPast(ctx context.Context, x *perdure.Execution, e *perdure.Entry) error {
	if e.ContentBytes == 0 || !terminal.ContentOnWorker(e.Content) {
		return nil
	}
	if e.ContentBytes > maxPastContent {
		text := perdure.Text("(a message of " + terminal.Bytes(e.ContentBytes) + ", not shown)")
		raw, err := json.Marshal(perdure.Content{Parts: []perdure.Part{text}})
		e.Content = raw
		return err
	}
	err := s.Conn.Fetch(ctx, x.ID, &e.Content, e.ContentBytes, e.ContentSHA256)
	if perdure.IsCode(err, perdure.Unavailable) || perdure.IsCode(err, perdure.NotFound) {
		return nil
	}
	return err
}
