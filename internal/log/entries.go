package log

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// entryLimit is the maximum size in bytes of an entry's content that an event contains. A client
// requests larger content separately, by the entry's id.
const entryLimit = 256 << 10

// entries are the entries to which the events of a page refer, by id. The log stores only their
// ids.
type entries map[uuid.UUID]*perdure.Entry

// joinEntries reads all entries that the records refer to with one read of the store. If the
// entries are too large to be read together, it reads only those of the first records. It returns
// the number of records whose entries it has read.
func (l *Log) joinEntries(ctx context.Context, execution uuid.UUID, records []perdure.Record) (entries, int, error) {
	var ids []uuid.UUID
	var at []int // indices of the records that refer to ids
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

// lacking returns the error for an entry to which the log refers, but which the store did not find.
// The code is not_found if the execution was deleted in the meantime, and internal if the store is
// damaged.
func (l *Log) lacking(ctx context.Context, execution uuid.UUID, err error) error {
	if !perdure.IsCode(err, perdure.NotFound) {
		return err
	}
	if _, gone := l.read.LogHead(ctx, execution); gone != nil {
		return gone
	}
	return &perdure.Error{Code: perdure.Internal, Message: "the log names an entry that is not there", Err: err}
}

// entryNamed returns the id of the entry that a record refers to. It returns nil if the record
// refers to no entry, or contains the entry itself.
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

// isPruned reports whether the record is a chunk whose text was pruned because its block was
// superseded. It returns false for the first chunk of a block, which clients receive with an empty
// text, so that no seq is missing.
func isPruned(r perdure.Record) bool {
	return r.Chunk != nil && r.Chunk.Text == "" && r.Chunk.Length == 0 && r.Chunk.Offset > 0
}

// shownEntry returns an entry in the form that its event contains. It checks the entry's JSON
// texts, so that rendering the event cannot fail.
func shownEntry(e perdure.Entry) (*perdure.Entry, error) {
	switch {
	case len(e.Content) > entryLimit:
		e.Content, e.ContentBytes = nil, int64(len(e.Content))
	case e.Blob != nil && e.Blob.Length > entryLimit:
		e.ContentBytes = e.Blob.Length
	case e.Blob != nil && e.Content == nil:
		e.Content, e.ContentBytes, e.ContentSHA256 = perdure.OnWorker, e.Blob.Length, e.Blob.SHA256.String()
	}
	for _, raw := range []json.RawMessage{e.Content, e.Metadata} {
		if raw != nil && !json.Valid(raw) {
			return nil, perdure.Errorf(perdure.Internal, "the entry %s is not JSON", e.ID)
		}
	}
	return &e, nil
}
