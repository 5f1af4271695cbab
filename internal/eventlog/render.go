package eventlog

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// entryLimit is the most bytes of an entry's content that travel in its event.
// A client fetches what is larger by the entry's id.
const entryLimit = 256 << 10

// render makes the item of a record, all but the cursor.
func (l *Log) render(ctx context.Context, execution uuid.UUID, r perdure.Record) (Item, error) {
	if gone(r) {
		return Item{Seq: r.Seq}, nil
	}
	if r.Type == perdure.EventEntry {
		fields, err := l.entryFields(ctx, execution, r.Fields)
		if err != nil {
			return Item{}, err
		}
		r.Fields = fields
	}
	data, err := Data(r, execution)
	return Item{Event: r.Type, Type: r.Type, Seq: r.Seq, Data: data}, err
}

// gone tells whether the record is a later piece of a superseded block, whose
// content is no longer kept. The first piece is still shown, empty, so that no
// seq is missing.
func gone(r perdure.Record) bool {
	return r.Chunk != nil && r.Chunk.Text == "" && r.Chunk.Length == 0 && r.Chunk.Offset > 0
}

// entryFields gives the entry that an event names. The log holds only its id,
// so that no content rests twice.
func (l *Log) entryFields(ctx context.Context, execution uuid.UUID, fields json.RawMessage) (json.RawMessage, error) {
	var named struct {
		ID      *uuid.UUID `json:"id"`
		EntryID *uuid.UUID `json:"entryId"`
	}
	if err := json.Unmarshal(fields, &named); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "an entry's event does not parse", Err: err}
	}
	if named.ID != nil || named.EntryID == nil {
		return fields, nil // the store has joined the entry in already
	}
	e, err := l.refs.Entry(ctx, execution, *named.EntryID)
	if err != nil {
		return nil, err
	}
	switch {
	case len(e.Content) > entryLimit:
		e.Content, e.ContentBytes = nil, int64(len(e.Content))
	case e.Blob != nil && e.Blob.Length > entryLimit:
		e.ContentBytes = e.Blob.Length
	case e.Blob != nil:
		if e, err = l.read.Entry(ctx, execution, e.ID); err != nil {
			return nil, err
		}
	}
	if e.Content == nil && e.Blob != nil && e.ContentBytes == 0 {
		e.Content, e.ContentBytes, e.ContentSHA256 = perdure.OnWorker, e.Blob.Length, e.Blob.SHA256.String()
	}
	return encode(e)
}
