package log

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// reset sends the reader a reset, so that it drops all records that it has received. It then moves
// the reader's position to before the first record of the log.
func (t *tail) reset(ctx context.Context, reason string) error {
	at, data, err := t.log.resetTo(ctx, t.execution, reason)
	if err != nil {
		return err
	}
	return t.restart(at, data)
}

func (t *tail) restart(at perdure.Cursor, data ResetData) error {
	t.at, t.coveredSeq, t.coveredPos = at, 0, 0
	item, err := resetItem(at, data)
	if err != nil {
		return err
	}
	return t.give(item)
}

// resetTo returns the position before the first record of the log, and the data of a reset to it.
func (l *Log) resetTo(ctx context.Context, execution uuid.UUID, reason string) (perdure.Cursor, ResetData, error) {
	data := ResetData{Reason: reason, FirstAvailable: 1}
	first, head, err := l.read.Log(ctx, execution, 0, 1)
	if err != nil {
		return perdure.Cursor{}, data, err
	}
	pos := int64(0)
	if len(first) == 1 {
		pos, data.FirstAvailable = first[0].Pos-1, first[0].Seq
	}
	data.LastSeq = head.LastSeq
	at, err := l.CursorAt(ctx, execution, pos)
	return at, data, err
}
