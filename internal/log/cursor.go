package log

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Cursor returns the cursor at the end of a log with the given head.
func (l *Log) Cursor(head store.Head) perdure.Cursor {
	return perdure.Cursor{Epoch: l.epoch(head), Pos: head.LastPos, Nonce: head.Nonce}
}

func (l *Log) epoch(head store.Head) uint64 { return perdure.EpochOf(head.Epoch, l.storeEpoch) }

// cursorOf returns the cursor directly after a record.
func (l *Log) cursorOf(head store.Head, r perdure.Record) perdure.Cursor {
	return perdure.Cursor{Epoch: l.epoch(head), Pos: r.Pos, Nonce: r.Nonce}
}

// CursorAt returns the cursor directly after the record at pos. For position 0 it is the start of
// the log. Errors: not_found.
func (l *Log) CursorAt(ctx context.Context, execution uuid.UUID, pos int64) (perdure.Cursor, error) {
	all, err := l.CursorsAt(ctx, execution, pos)
	if err != nil {
		return perdure.Cursor{}, err
	}
	return all[0], nil
}

// CursorsAt returns the cursors at the given positions, in the same order, with one read of the
// store. A cursor has nonce 0 if its position was pruned or is past the end of the log; a reader
// that resumes with such a cursor gets a reset. Errors: not_found.
func (l *Log) CursorsAt(ctx context.Context, execution uuid.UUID, positions ...int64) ([]perdure.Cursor, error) {
	nonces, head, err := l.read.Nonces(ctx, execution, positions...)
	if err != nil {
		return nil, err
	}
	epoch := l.epoch(head)
	all := make([]perdure.Cursor, len(positions))
	for i, pos := range positions {
		all[i] = perdure.Cursor{Epoch: epoch, Pos: pos, Nonce: nonces[pos]}
	}
	return all, nil
}

// misfit returns the reason why a reader with the cursor must get a reset; "" if the cursor is
// valid for the log. The cursor must not be zero. misfit does not check whether the records after
// the cursor were pruned.
func (l *Log) misfit(ctx context.Context, execution uuid.UUID, c perdure.Cursor, head store.Head) (string, error) {
	switch {
	case c.Nonceless || c.Epoch != l.epoch(head):
		return ResetEpoch, nil
	case c.Pos > head.LastPos:
		return ResetAhead, nil
	case c == l.Cursor(head):
		return "", nil
	}
	nonces, _, err := l.read.Nonces(ctx, execution, c.Pos)
	if err != nil {
		return "", err
	}
	if nonce, known := nonces[c.Pos]; known && nonce != c.Nonce {
		return ResetEpoch, nil
	}
	return "", nil
}
