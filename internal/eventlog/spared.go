package eventlog

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Position gives the position that a reader begins at; 0 for the beginning, and
// for one that does not fit the log, which is told so by a reset. Errors:
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
		if c.Epoch != l.Cursor(head).Epoch || c.Pos > head.LastPos {
			return 0, nil
		}
		return c.Pos, nil
	case n == nil || *n <= 0 || *n > head.LastSeq:
		return 0, nil
	default:
		_, pos, _, err := l.read.BlocksAcross(ctx, execution, *n)
		return pos, err
	}
}

// LastSeq gives the newest seq up to the position pos that is of a type of
// which is says yes; 0 for none. It reads backwards from pos, which must be in
// the log.
func (l *Log) LastSeq(ctx context.Context, execution uuid.UUID, pos int64, is func(perdure.EventType) bool) (int64, error) {
	for high := pos; high > 0; high -= pageRecords {
		found, err := l.lastSeqIn(ctx, execution, max(0, high-pageRecords), high, is)
		if found > 0 || err != nil {
			return found, err
		}
	}
	return 0, nil
}

// lastSeqIn looks at the records after low, up to high. Only the record that
// brings a seq counts: a later chunk of an old block says nothing of how far
// the log is.
func (l *Log) lastSeqIn(ctx context.Context, execution uuid.UUID, low, high int64, is func(perdure.EventType) bool) (int64, error) {
	var found int64
	for low < high {
		records, _, err := l.read.Log(ctx, execution, low, int(high-low))
		if err != nil {
			return 0, err
		}
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			if r.Pos <= high && is(r.Type) && (r.Chunk == nil || r.Chunk.Offset == 0) {
				found = max(found, r.Seq)
			}
		}
		low = records[len(records)-1].Pos
	}
	return found, nil
}

// BlockStart gives the position of the first piece of the block of that seq, and
// the zero cursor if there is none, or it is of another type.
func (l *Log) BlockStart(ctx context.Context, execution uuid.UUID, seq int64, typ perdure.EventType) (perdure.Cursor, error) {
	events, head, err := l.read.Events(ctx, execution, seq-1, seq)
	if err != nil || len(events) == 0 || events[0].Block == nil || events[0].Block.Type != typ {
		return perdure.Cursor{}, err
	}
	return perdure.Cursor{Epoch: l.Cursor(head).Epoch, Pos: events[0].Block.FirstPos}, nil
}

// BlocksFrom gives the position before the first of the blocks, of types that is
// says yes to, that are open at pos, or were open together with one of those. A
// view that puts blocks together begins there to know what it has shown at pos.
func (l *Log) BlocksFrom(ctx context.Context, execution uuid.UUID, pos int64, is func(perdure.EventType) bool) (int64, error) {
	for {
		seq, err := l.LastSeq(ctx, execution, pos, func(perdure.EventType) bool { return true })
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
