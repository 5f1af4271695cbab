package log

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Position returns the position at which a reader begins; 0 is the start of the log. The result is
// also 0 if the reader would receive a reset because its position does not fit the log. Errors:
// invalid_argument, not_found.
func (l *Log) Position(ctx context.Context, execution uuid.UUID, from From) (int64, error) {
	c, err := perdure.ParseCursor(from.Cursor)
	if err != nil {
		return 0, err
	}
	head, err := l.read.LogHead(ctx, execution)
	if err != nil {
		return 0, err
	}
	switch n := from.AfterSeq; {
	case c != perdure.Cursor{}:
		reason, err := l.misfit(ctx, execution, c, head)
		if err != nil || reason != "" {
			return 0, err
		}
		return c.Pos, nil
	case n == nil || *n <= 0 || *n > head.LastSeq:
		return 0, nil
	default:
		_, pos, _, err := l.read.BlocksAcross(ctx, execution, *n)
		return pos, err
	}
}

// LastSeq returns the greatest seq of the events of the given types up to a position; 0 if there is
// none.
func (l *Log) LastSeq(ctx context.Context, execution uuid.UUID, pos int64, types []perdure.EventType) (int64, error) {
	if pos <= 0 || len(types) == 0 {
		return 0, nil
	}
	return l.read.LastSeqOf(ctx, execution, pos, types)
}

// FirstSeq returns the seq of the oldest event that the log still has. Errors: not_found.
func (l *Log) FirstSeq(ctx context.Context, execution uuid.UUID) (int64, error) {
	head, err := l.read.LogHead(ctx, execution)
	if err != nil || head.FirstPos == 0 {
		return 1, err
	}
	first, _, err := l.read.Log(ctx, execution, 0, 1)
	if err != nil || len(first) == 0 {
		return 1, err
	}
	return first[0].Seq, nil
}

// BlockStart returns the cursor after the first chunk of the block with the given seq. It returns
// the zero cursor if there is no such block, or if the block has another type.
func (l *Log) BlockStart(ctx context.Context, execution uuid.UUID, seq int64, typ perdure.EventType) (perdure.Cursor, error) {
	events, head, err := l.read.Events(ctx, execution, seq-1, seq)
	if err != nil || len(events) == 0 || events[0].Block == nil || events[0].Block.Type != typ {
		return perdure.Cursor{}, err
	}
	return firstCursor(events[0], l.epoch(head)), nil
}

// BlocksFrom returns the position from which a view must read the log to restore its state at the
// position `pos`. A view needs the blocks that are open at `pos`, the blocks that were open when
// one of these began, and so on. Only blocks of types for which the function `is` returns true
// count.
func (l *Log) BlocksFrom(ctx context.Context, execution uuid.UUID, pos int64, is func(perdure.EventType) bool) (int64, error) {
	for {
		seq, err := l.LastSeq(ctx, execution, pos, perdure.EventTypes)
		if err != nil {
			return 0, err
		}
		blocks, _, _, err := l.read.BlocksAcross(ctx, execution, seq)
		if err != nil {
			return 0, err
		}
		before := pos
		for _, b := range blocks {
			if is(b.Type) {
				pos = min(pos, b.FirstPos-1)
			}
		}
		if pos == before {
			return pos, nil
		}
	}
}
