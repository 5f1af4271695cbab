package apply

import (
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// firstMove and endMove delimit those columns of a stream's row that can change: from firstMove up
// to, but not including, endMove.
var firstMove, endMove = slices.Index(load.StreamRows.Columns, "tail"), slices.Index(load.StreamRows.Columns, "created_at")

var (
	insertStream = statement.Declare(load.StreamRows.InsertStatement())
	moveStream   = statement.Update("durable_stream", statement.Columns(strings.Join(load.StreamRows.Columns[firstMove:endMove], ", ")), statement.Columns("id").Fixed("deleted", "= 0"))
	markStream   = statement.Update("durable_stream", statement.Terms{}.Fixed("deleted", "= 1"), statement.Columns("id").Fixed("deleted", "= 0"))
	streamsOfOrg = statement.Read("SELECT count(*) FROM durable_stream WHERE org_id = ? AND deleted = 0")
	appendStream = statement.Insert("durable_stream_chunk", "stream_id, upto, content")
	putProducer  = statement.Insert("durable_stream_producer", "stream_id, producer, epoch, seq",
		statement.Replacing("stream_id, producer", "epoch = excluded.epoch, seq = excluded.seq"))
	producerByID = statement.Read("SELECT producer, epoch, seq FROM durable_stream_producer WHERE stream_id = ? AND producer = ?")
)

// loadStreamFor returns a stream and one of its producers. The stream is nil if it does not exist.
// The producer is nil if it has never appended to the stream.
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
	values, err := load.StreamRows.Values(load.RowOfStream(s))
	if err != nil {
		return err
	}
	n, err := t.Exec(moveStream, append(slices.Clone(values[firstMove:endMove]), values[0])...)
	if err != nil || n > 0 {
		return err
	}
	return t.Write(insertStream, values...)
}

var dropStream = statement.Remove("durable_stream", statement.Columns("id"))

// dropsStream deletes the rows of a deleted stream.
var dropsStream = []dropping{
	{query: statement.Alone("DELETE FROM durable_stream_chunk WHERE (stream_id, upto) IN (SELECT stream_id, upto FROM durable_stream_chunk WHERE stream_id = ?1 LIMIT ?2)"), cost: largeRow},
	{query: statement.Alone("DELETE FROM durable_stream_producer WHERE (stream_id, producer) IN (SELECT stream_id, producer FROM durable_stream_producer WHERE stream_id = ?1 LIMIT ?2)"), cost: 1},
}

// dropStreams deletes about `rows` rows of deleted streams, the oldest stream first.
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
