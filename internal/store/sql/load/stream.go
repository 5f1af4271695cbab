package load

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// StreamRow is the row of a stream.
type StreamRow struct {
	store.Stream
	by         *string // id of the producer of Stream.ClosedBy; epoch and seq are its other fields
	epoch, seq *int64
}

// RowOfStream converts a stream to its row.
func RowOfStream(s *store.Stream) *StreamRow {
	r := StreamRow{Stream: *s}
	if by := s.ClosedBy; by != nil {
		r.by, r.epoch, r.seq = &by.ID, &by.Epoch, &by.Seq
	}
	return &r
}

// StreamRows declares the rows of the table of streams.
var StreamRows = row.New("durable_stream", 1, []row.Field[StreamRow]{
	row.ID("id", func(x *StreamRow) *uuid.UUID { return &x.ID }),
	row.Text("org_id", func(x *StreamRow) *string { return &x.Org }),
	row.Text("path", func(x *StreamRow) *string { return &x.Path }),
	row.Text("content_type", func(x *StreamRow) *string { return &x.ContentType }),
	row.Number("tail", func(x *StreamRow) *int64 { return &x.Tail }),
	row.Flag("closed", func(x *StreamRow) *bool { return &x.Closed }),
	row.OptText("seq", func(x *StreamRow) *string { return &x.Seq }),
	row.NilText("closed_by", func(x *StreamRow) **string { return &x.by }),
	row.NilNumber("closed_epoch", func(x *StreamRow) **int64 { return &x.epoch }),
	row.NilNumber("closed_seq", func(x *StreamRow) **int64 { return &x.seq }),
	row.Time("created_at", func(x *StreamRow) *perdure.Time { return &x.CreatedAt }),
	row.OptID("key_id", func(x *StreamRow) **uuid.UUID { return &x.KeyID }),
})

// StreamSelect is the beginning of a query for streams, up to its condition.
var StreamSelect = "SELECT " + StreamRows.List("") + " FROM durable_stream WHERE "

// StreamByPath selects a stream by its path.
var StreamByPath = statement.Read(StreamSelect + "org_id = ? AND path = ? AND deleted = 0")

// Stream returns the stream that a query selects; nil if there is none.
func Stream(v statement.View, query *statement.Statement, args ...any) (*store.Stream, error) {
	var s StreamRow
	found, err := v.One(query, args, StreamRows.Scan(nil, &s)...)
	if err != nil || !found {
		return nil, err
	}
	if s.by != nil && s.epoch != nil && s.seq != nil {
		s.ClosedBy = &store.StreamProducer{ID: *s.by, Epoch: *s.epoch, Seq: *s.seq}
	}
	return &s.Stream, nil
}

// DeadStream selects the id of a deleted stream that still has rows.
var DeadStream = statement.Alone("SELECT id FROM durable_stream WHERE deleted = 1 ORDER BY number LIMIT 1")
