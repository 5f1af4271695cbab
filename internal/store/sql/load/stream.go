package load

import (
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const (
	// StreamSelect is the beginning of a query for streams, up to its condition.
	StreamSelect = "SELECT id, org_id, path, content_type, tail, closed, seq, closed_by, closed_epoch, closed_seq, created_at, key_id FROM durable_stream WHERE "
)

// StreamByPath selects a stream by its path.
var StreamByPath = statement.Read(StreamSelect + "org_id = ? AND path = ? AND deleted = 0")

func streamScan(s *store.Stream, by *closedBy) []any {
	return []any{
		&s.ID, &s.Org, &s.Path, &s.ContentType, &s.Tail, column.FlagInto(&s.Closed),
		column.TextInto(&s.Seq),
		&by.id, &by.epoch, &by.seq, column.TimeInto(&s.CreatedAt),
		column.OptIDInto(&s.KeyID),
	}
}

// closedBy is the columns of Stream.ClosedBy; NULL if that is nil.
type closedBy struct {
	id         *string
	epoch, seq *int64
}

// Stream returns a stream; nil if there is none.
func Stream(v statement.View, query *statement.Statement, args ...any) (*store.Stream, error) {
	var (
		s  store.Stream
		by closedBy
	)
	found, err := v.One(query, args, streamScan(&s, &by)...)
	if err != nil || !found {
		return nil, err
	}
	if by.id != nil && by.epoch != nil && by.seq != nil {
		s.ClosedBy = &store.StreamProducer{ID: *by.id, Epoch: *by.epoch, Seq: *by.seq}
	}
	return &s, nil
}

// DeadStream selects a deleted stream that still has rows.
var DeadStream = statement.Alone("SELECT id FROM durable_stream WHERE deleted = 1 ORDER BY number LIMIT 1")
