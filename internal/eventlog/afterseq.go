package eventlog

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
)

// beginAfterSeq gives, whole, every block of up to seq n that is open or was
// closed after n, and goes to the first event after n.
func (t *tail) beginAfterSeq(ctx context.Context, n int64) error {
	blocks, pos, head, err := t.log.read.BlocksAcross(ctx, t.execution, n)
	if err != nil {
		return err
	}
	lost, err := t.log.lost(ctx, t.execution, head, n)
	if err != nil {
		return err
	}
	if lost {
		return t.reset(ctx, ResetTruncated)
	}
	t.coveredSeq, t.coveredPos = n, head.LastPos
	if err := t.giveBlocks(ctx, blocks, pos); err != nil {
		return err
	}
	if t.at, err = t.log.CursorAt(ctx, t.execution, pos); err != nil {
		return err
	}
	t.shown = true
	return t.endedAt(ctx, head)
}

// lost tells whether the event after n is no longer kept.
func (l *Log) lost(ctx context.Context, execution uuid.UUID, head store.Head, n int64) (bool, error) {
	if head.FirstPos == 0 {
		return false, nil
	}
	first, _, err := l.read.Log(ctx, execution, 0, 1)
	return len(first) == 1 && first[0].Seq > n+1, err
}

// giveBlocks gives the blocks, oldest first. While some are still to come, the
// cursor is before the first of them, so that a reader that is cut off in
// between is given them again.
func (t *tail) giveBlocks(ctx context.Context, blocks []store.BlockContent, pos int64) error {
	slices.SortFunc(blocks, func(a, b store.BlockContent) int { return cmp.Compare(a.Seq, b.Seq) })
	ends := make([]int64, len(blocks))
	for i, b := range slices.Backward(blocks) {
		ends[i] = pos
		pos = min(pos, b.FirstPos-1)
	}
	cursors, err := t.log.CursorsAt(ctx, t.execution, ends...)
	if err != nil {
		return err
	}
	for i, b := range blocks {
		data, err := BlockData(b, t.execution)
		if err != nil {
			return err
		}
		if err := t.give(Item{Event: Snapshot, Type: b.Type, Cursor: cursors[i], Seq: b.Seq, Data: data}); err != nil {
			return err
		}
	}
	return nil
}
