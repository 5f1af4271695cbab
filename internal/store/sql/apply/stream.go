package apply

import (
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	insertStream = statement.Insert("durable_stream", "id, org_id, path, content_type, tail, closed, seq, closed_by, closed_epoch, closed_seq, created_at, key_id")
	moveStream   = statement.Update("durable_stream", statement.Columns("tail, closed, seq, closed_by, closed_epoch, closed_seq"), statement.Columns("id").Fixed("deleted", "= 0"))
	markStream   = statement.Update("durable_stream", statement.Terms{}.Fixed("deleted", "= 1"), statement.Columns("id").Fixed("deleted", "= 0"))
	streamsOfOrg = statement.Read("SELECT count(*) FROM durable_stream WHERE org_id = ? AND deleted = 0")
	appendStream = statement.Insert("durable_stream_chunk", "stream_id, upto, content")
	putProducer  = statement.Insert("durable_stream_producer", "stream_id, producer, epoch, seq",
		statement.Replacing("stream_id, producer", "epoch = excluded.epoch, seq = excluded.seq"))
	producerByID = statement.Read("SELECT producer, epoch, seq FROM durable_stream_producer WHERE stream_id = ? AND producer = ?")
)

// loadStreamFor returns a stream and one of its producers. The stream is nil if it does not exist;
// the producer is nil if it has never appended.
func loadStreamFor(v statement.View, org, path, producer string) (*store.Stream, *store.StreamProducer, error) {
	s, err := load.Stream(v, load.StreamByPath, org, path)
	if err != nil || s == nil || producer == "" {
		return s, nil, err
	}
	var p store.StreamProducer
	found, err := v.One(producerByID, []any{s.ID[:], producer}, &p.ID, &p.Epoch, &p.Seq)
	if err != nil || !found {
		return s, nil, err
	}
	return s, &p, nil
}

func (t *Transaction) applyStream(org string, ch *store.StreamChange) error {
	if ch == nil {
		return nil
	}
	s := &ch.Stream
	if s.Org != org {
		return errors.New("a command wrote a stream of another org")
	}
	if ch.Delete {
		return t.Write(markStream, s.ID[:])
	}
	if err := t.putStream(s); err != nil {
		return err
	}
	at := s.Tail
	for _, piece := range ch.Append {
		at -= int64(len(piece))
	}
	for _, piece := range ch.Append {
		at += int64(len(piece))
		if err := t.Write(appendStream, s.ID[:], at, piece); err != nil {
			return err
		}
	}
	if ch.Producer == nil {
		return nil
	}
	return t.Write(putProducer, s.ID[:], ch.Producer.ID, ch.Producer.Epoch, ch.Producer.Seq)
}

func (t *Transaction) putStream(s *store.Stream) error {
	var by, epoch, seq any
	if s.ClosedBy != nil {
		by, epoch, seq = s.ClosedBy.ID, s.ClosedBy.Epoch, s.ClosedBy.Seq
	}
	n, err := t.Exec(moveStream, s.Tail, column.Flag(s.Closed), column.OptText(s.Seq), by, epoch, seq, s.ID[:])
	if err != nil || n > 0 {
		return err
	}
	return t.Write(insertStream, s.ID[:], s.Org, s.Path, s.ContentType, s.Tail, column.Flag(s.Closed), column.OptText(s.Seq), by, epoch, seq, column.Millis(s.CreatedAt), column.OptID(s.KeyID))
}

var dropStream = statement.Remove("durable_stream", statement.Columns("id"))

// dropsStream deletes the rows of a deleted stream.
var dropsStream = []dropping{
	{query: statement.Alone("DELETE FROM durable_stream_chunk WHERE (stream_id, upto) IN (SELECT stream_id, upto FROM durable_stream_chunk WHERE stream_id = ?1 LIMIT ?2)"), cost: largeRow},
	{query: statement.Alone("DELETE FROM durable_stream_producer WHERE (stream_id, producer) IN (SELECT stream_id, producer FROM durable_stream_producer WHERE stream_id = ?1 LIMIT ?2)"), cost: 1},
}

// dropStreams deletes about that many rows of the deleted streams, oldest stream first.
func (t *Transaction) dropStreams(rows int) error {
	for rows > 0 {
		var id uuid.UUID
		found, err := t.One(load.DeadStream, nil, &id)
		if err != nil || !found {
			return err
		}
		for _, d := range dropsStream {
			if rows, err = t.dropSome(id, d, rows); err != nil || rows <= 0 {
				return err
			}
		}
		if err := t.Write(dropStream, id[:]); err != nil {
			return err
		}
		rows--
	}
	return nil
}
