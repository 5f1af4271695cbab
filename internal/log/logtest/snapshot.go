package logtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
)

// snapshot is a client that first reads a snapshot, and then the stream after the snapshot's
// cursor. It stores the entries, and the blocks that were open when the snapshot was made.
type snapshot struct{ stream }

// snapshotName is the name of the Event that stands for the response with the snapshot.
const snapshotName = "whole"

// Read implements Projection.
func (s snapshot) Read(ctx context.Context, held []Event) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if len(held) == 0 {
			var raw json.RawMessage
			var at struct{ Cursor string }
			_, err := s.getJSON(ctx, s.API.path("/snapshot?entries=1000"), &raw)
			if err == nil {
				err = json.Unmarshal(raw, &at)
			}
			first := Event{ID: at.Cursor, Name: snapshotName, Data: string(raw)}
			if !yield(first, err) || err != nil {
				return
			}
			held = []Event{first}
		}
		header := http.Header{"Last-Event-Id": {lastID(held)}}
		for e, err := range s.from(ctx, s.path, header, held) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// Show implements Projection. It returns the entries of the snapshot and of the later events, and
// the faults of these events.
func (s snapshot) Show(given []Event) string {
	entries, seqs, p := []string{}, map[string]bool{}, newClientCopy()
	add := func(raw []byte) {
		var e struct {
			ID      string
			Content json.RawMessage
		}
		if err := json.Unmarshal(raw, &e); err != nil || e.ID == "" {
			p.wrong = append(p.wrong, fmt.Sprintf("an entry %s: %v", raw, err))
		}
		if !seqs[e.ID] {
			entries = append(entries, e.ID+" "+string(e.Content))
		}
		seqs[e.ID] = true
	}
	for _, e := range given {
		switch e.Name {
		case snapshotName:
			for _, raw := range p.begin(e) {
				add(raw)
			}
		case "entry.appended":
			var kind struct{ EntryType string }
			if json.Unmarshal([]byte(e.Data), &kind) == nil && kind.EntryType != "llm_call" {
				add([]byte(e.Data))
			}
			p.add(e)
		default:
			p.add(e)
		}
	}
	return strings.Join(append(entries, p.faults()...), "\n")
}

// begin adds the open blocks of a snapshot, and returns the snapshot's entries.
func (p *clientCopy) begin(e Event) []json.RawMessage {
	var s struct {
		Execution  struct{ MaxSeq int64 }
		Entries    []json.RawMessage
		OpenBlocks []json.RawMessage
	}
	if err := json.Unmarshal([]byte(e.Data), &s); err != nil {
		p.wrong = append(p.wrong, errors.Join(errors.New("the snapshot"), err).Error())
	}
	p.newest, p.first = s.Execution.MaxSeq, s.Execution.MaxSeq+1
	for _, raw := range s.OpenBlocks {
		p.add(Event{Name: "snapshot", Data: string(raw)})
	}
	return s.Entries
}
