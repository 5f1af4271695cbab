package eventlog

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Cursor is the position at a head, for snapshots taken there.
func (l *Log) Cursor(head store.Head) perdure.Cursor {
	return perdure.Cursor{Epoch: l.epoch(head), Pos: head.LastPos, Nonce: head.Nonce}
}

func (l *Log) epoch(head store.Head) uint64 { return perdure.EpochOf(head.Epoch, l.storeEpoch) }

// cursorOf is the position after a record.
func (l *Log) cursorOf(head store.Head, r perdure.Record) perdure.Cursor {
	return perdure.Cursor{Epoch: l.epoch(head), Pos: r.Pos, Nonce: r.Nonce}
}

// CursorAt returns the cursor from which a reader continues after the record at pos, or
// from the start for 0. Who holds the record has its cursor already: see Item.Cursor.
// Errors: not_found.
func (l *Log) CursorAt(ctx context.Context, execution uuid.UUID, pos int64) (perdure.Cursor, error) {
	all, err := l.CursorsAt(ctx, execution, pos)
	if err != nil {
		return perdure.Cursor{}, err
	}
	return all[0], nil
}

// CursorsAt returns the cursors at many positions, in their order, with one read. A
// cursor at a position that the log no longer keeps, or does not reach, has the nonce
// 0; whoever comes back with it is answered by a reset. Errors: not_found.
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

// misfit returns the reason of the reset that answers a cursor, which is not the zero
// one; "" if it fits the log. What follows a cursor that fits may still be pruned.
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
