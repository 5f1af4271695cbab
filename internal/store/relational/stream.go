package relational

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const (
	streamSelect = "SELECT id, org_id, path, content_type, tail, closed, seq, closed_by, closed_epoch, closed_seq, created_at, key_id FROM durable_stream WHERE "
)

var (
	insertStream  = insert("durable_stream", "id, org_id, path, content_type, tail, closed, seq, closed_by, closed_epoch, closed_seq, created_at, key_id")
	moveStream    = update("durable_stream", columns("tail, closed, seq, closed_by, closed_epoch, closed_seq"), columns("id").fixed("deleted", "= 0"))
	markStream    = update("durable_stream", Terms{}.fixed("deleted", "= 1"), columns("id").fixed("deleted", "= 0"))
	streamByPath  = read(streamSelect + "org_id = ? AND path = ? AND deleted = 0")
	streamByID    = read(streamSelect + "id = ? AND deleted = 0")
	streamsOfOrg  = read("SELECT count(*) FROM durable_stream WHERE org_id = ? AND deleted = 0")
	appendStream  = insert("durable_stream_chunk", "stream_id, upto, content")
	streamContent = read("SELECT upto, content FROM durable_stream_chunk WHERE stream_id = ? AND upto > ? ORDER BY upto")
	putProducer   = insert("durable_stream_producer", "stream_id, producer, epoch, seq",
		replacing("stream_id, producer", "epoch = excluded.epoch, seq = excluded.seq"))
	producerByID = read("SELECT producer, epoch, seq FROM durable_stream_producer WHERE stream_id = ? AND producer = ?")
)

func streamScan(s *store.Stream, by *closedBy) []any {
	return []any{
		&s.ID, &s.Org, &s.Path, &s.ContentType, &s.Tail, flagInto(&s.Closed),
		textInto(&s.Seq),
		&by.id, &by.epoch, &by.seq, timeInto(&s.CreatedAt),
		optIDInto(&s.KeyID),
	}
}

// closedBy is the columns of Stream.ClosedBy; NULL if that is nil.
type closedBy struct {
	id         *string
	epoch, seq *int64
}

func loadStream(v view, query *Statement, args ...any) (*store.Stream, error) {
	var (
		s  store.Stream
		by closedBy
	)
	found, err := v.one(query, args, streamScan(&s, &by)...)
	if err != nil || !found {
		return nil, err
	}
	if by.id != nil && by.epoch != nil && by.seq != nil {
		s.ClosedBy = &store.StreamProducer{ID: *by.id, Epoch: *by.epoch, Seq: *by.seq}
	}
	return &s, nil
}

// loadStreamFor returns a stream and one of its producers. The stream is nil if it does not exist;
// the producer is nil if it has never appended.
func loadStreamFor(v view, org, path, producer string) (*store.Stream, *store.StreamProducer, error) {
	s, err := loadStream(v, streamByPath, org, path)
	if err != nil || s == nil || producer == "" {
		return s, nil, err
	}
	var p store.StreamProducer
	found, err := v.one(producerByID, []any{s.ID[:], producer}, &p.ID, &p.Epoch, &p.Seq)
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
		return t.write(markStream, s.ID[:])
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
		if err := t.write(appendStream, s.ID[:], at, piece); err != nil {
			return err
		}
	}
	if ch.Producer == nil {
		return nil
	}
	return t.write(putProducer, s.ID[:], ch.Producer.ID, ch.Producer.Epoch, ch.Producer.Seq)
}

func (t *Transaction) putStream(s *store.Stream) error {
	var by, epoch, seq any
	if s.ClosedBy != nil {
		by, epoch, seq = s.ClosedBy.ID, s.ClosedBy.Epoch, s.ClosedBy.Seq
	}
	n, err := t.exec(moveStream, s.Tail, flag(s.Closed), optText(s.Seq), by, epoch, seq, s.ID[:])
	if err != nil || n > 0 {
		return err
	}
	return t.write(insertStream, s.ID[:], s.Org, s.Path, s.ContentType, s.Tail, flag(s.Closed), optText(s.Seq), by, epoch, seq, millis(s.CreatedAt), optID(s.KeyID))
}

var (
	deadStream = alone("SELECT id FROM durable_stream WHERE deleted = 1 ORDER BY number LIMIT 1")
	dropStream = remove("durable_stream", columns("id"))
)

// dropsStream deletes the rows of a deleted stream.
var dropsStream = []dropping{
	{query: alone("DELETE FROM durable_stream_chunk WHERE (stream_id, upto) IN (SELECT stream_id, upto FROM durable_stream_chunk WHERE stream_id = ?1 LIMIT ?2)"), cost: largeRow},
	{query: alone("DELETE FROM durable_stream_producer WHERE (stream_id, producer) IN (SELECT stream_id, producer FROM durable_stream_producer WHERE stream_id = ?1 LIMIT ?2)"), cost: 1},
}

// dropStreams deletes about that many rows of the deleted streams, oldest stream first.
func (t *Transaction) dropStreams(rows int) error {
	for rows > 0 {
		var id uuid.UUID
		found, err := t.one(deadStream, nil, &id)
		if err != nil || !found {
			return err
		}
		for _, d := range dropsStream {
			if rows, err = t.dropSome(id, d, rows); err != nil || rows <= 0 {
				return err
			}
		}
		if err := t.write(dropStream, id[:]); err != nil {
			return err
		}
		rows--
	}
	return nil
}

// Stream implements [store.Reader].
func (r *Reader) Stream(ctx context.Context, org, path string) (*store.Stream, error) {
	var s *store.Stream
	err := r.read(ctx, func(v view) (err error) {
		s, err = loadStream(v, streamByPath, org, path)
		return err
	})
	if err == nil && s == nil {
		err = perdure.Errorf(perdure.NotFound, "there is no stream %s", path)
	}
	return s, err
}

// StreamContent implements [store.Reader].
func (r *Reader) StreamContent(ctx context.Context, id uuid.UUID, after int64, bytes int) ([]store.StreamPiece, *store.Stream, error) {
	var (
		s      *store.Stream
		pieces []store.StreamPiece
	)
	err := r.read(ctx, func(v view) (err error) {
		if s, err = loadStream(v, streamByID, id[:]); err != nil || s == nil || bytes <= 0 {
			return err
		}
		return v.each(streamContent, []any{id[:], after}, func(row func(...any) error) error {
			var (
				p    store.StreamPiece
				upto int64
			)
			err := row(&upto, &p.Content)
			p.At = upto - int64(len(p.Content))
			if bytes -= len(p.Content); err == nil && bytes < 0 && len(pieces) > 0 {
				return ErrStop
			}
			pieces = append(pieces, p)
			return err
		})
	})
	if err == nil && s == nil {
		err = perdure.Errorf(perdure.NotFound, "there is no stream %s", id)
	}
	if err != nil {
		return nil, nil, err
	}
	return pieces, s, nil
}

// DeadStreams implements [store.Reader].
func (r *Reader) DeadStreams(ctx context.Context) (bool, error) {
	var found bool
	err := r.read(ctx, func(v view) (err error) {
		var id uuid.UUID
		found, err = v.one(deadStream, nil, &id)
		return err
	})
	return found, err
}
