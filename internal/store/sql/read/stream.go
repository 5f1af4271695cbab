package read

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	streamByID    = statement.Read(load.StreamSelect + "id = ? AND deleted = 0")
	streamContent = statement.Read("SELECT upto, content FROM durable_stream_chunk WHERE stream_id = ? AND upto > ? ORDER BY upto")
)

// Stream implements [store.Reader].
func (r *Reader) Stream(ctx context.Context, org, path string) (*store.Stream, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*store.Stream, error) {
		return load.Stream(v, load.StreamByPath, org, path)
	}, "there is no stream %s", path)
}

// StreamContent implements [store.Reader].
func (r *Reader) StreamContent(ctx context.Context, id uuid.UUID, after int64, bytes int) ([]store.StreamPiece, *store.Stream, error) {
	var (
		s      *store.Stream
		pieces []store.StreamPiece
	)
	err := r.Read(ctx, func(v statement.View) (err error) {
		if s, err = load.Stream(v, streamByID, id[:]); err != nil || s == nil || bytes <= 0 {
			return err
		}
		return v.Each(streamContent, []any{id[:], after}, func(row func(...any) error) error {
			var (
				p    store.StreamPiece
				upto int64
			)
			err := row(&upto, &p.Content)
			p.At = upto - int64(len(p.Content))
			if bytes -= len(p.Content); err == nil && bytes < 0 && len(pieces) > 0 {
				return statement.ErrStop
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
	dead, err := r.IDs(ctx, load.DeadStream)
	return len(dead) > 0, err
}
