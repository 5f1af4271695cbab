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

// entries are those that events of a page name. The log holds only their ids, so
// that no content rests twice.
type entries map[uuid.UUID]*perdure.Entry

// joinEntries reads the entries that the records name, all at once, and tells how
// many of the records can be rendered with them: all, unless entries are large.
func (l *Log) joinEntries(ctx context.Context, execution uuid.UUID, records []perdure.Record) (entries, int, error) {
	var ids []uuid.UUID
	var at []int // the records that name them
	for i, r := range records {
		id, err := entryNamed(r)
		if err != nil {
			return nil, 0, err
		}
		if id != nil {
			ids, at = append(ids, *id), append(at, i)
		}
	}
	if len(ids) == 0 {
		return nil, len(records), nil
	}
	read, err := l.read.EntriesOf(ctx, execution, ids, entryLimit)
	if err != nil {
		return nil, 0, l.lacking(ctx, execution, err)
	}
	joined := entries{}
	for i := range read {
		joined[read[i].ID] = &read[i]
	}
	if len(read) < len(ids) {
		return joined, at[len(read)], nil
	}
	return joined, len(records), nil
}

// lacking says what the absence of an entry that the log names means: the
// execution was deleted meanwhile, which is not_found, or the store is damaged.
func (l *Log) lacking(ctx context.Context, execution uuid.UUID, err error) error {
	if !perdure.IsCode(err, perdure.NotFound) {
		return err
	}
	if _, gone := l.read.LogHead(ctx, execution); gone != nil {
		return gone
	}
	return &perdure.Error{Code: perdure.Internal, Message: "the log names an entry that is not there", Err: err}
}

// entryNamed returns the entry that a record names and does not hold; nil for
// none.
func entryNamed(r perdure.Record) (*uuid.UUID, error) {
	if r.Type != perdure.EventEntry {
		return nil, nil
	}
	var named struct {
		ID      *uuid.UUID `json:"id"`
		EntryID *uuid.UUID `json:"entryId"`
	}
	if err := json.Unmarshal(r.Fields, &named); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "an entry's event does not parse", Err: err}
	}
	if named.ID != nil {
		return nil, nil
	}
	return named.EntryID, nil
}

// render makes the item of a record, all but the cursor.
func (all entries) render(execution uuid.UUID, r perdure.Record) (Item, error) {
	if gone(r) {
		return Item{Seq: r.Seq}, nil
	}
	id, err := entryNamed(r)
	if err != nil {
		return Item{}, err
	}
	if id != nil {
		if r.Fields, err = entryFields(*all[*id]); err != nil {
			return Item{}, err
		}
	}
	data, err := Data(r, execution)
	return Item{Event: r.Type, Type: r.Type, Seq: r.Seq, Data: data}, err
}

// gone reports whether the record is a later piece of a superseded block, whose
// content is no longer kept. The first piece is still shown, empty, so that no
// seq is missing.
func gone(r perdure.Record) bool {
	return r.Chunk != nil && r.Chunk.Text == "" && r.Chunk.Length == 0 && r.Chunk.Offset > 0
}

// entryFields is an entry as its event gives it.
func entryFields(e perdure.Entry) (json.RawMessage, error) {
	switch {
	case len(e.Content) > entryLimit:
		e.Content, e.ContentBytes = nil, int64(len(e.Content))
	case e.Blob != nil && e.Blob.Length > entryLimit:
		e.ContentBytes = e.Blob.Length
	case e.Blob != nil && e.Content == nil:
		e.Content, e.ContentBytes, e.ContentSHA256 = perdure.OnWorker, e.Blob.Length, e.Blob.SHA256.String()
	}
	return encode(e)
}
