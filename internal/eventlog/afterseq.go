package eventlog

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// beginAfterSeq returns, whole, every block of up to seq n that is open or was
// closed after n, and goes to the first event after n.
func (t *tail) beginAfterSeq(ctx context.Context, n int64) error {
	across, err := t.log.across(ctx, t.execution, n)
	if err != nil {
		return err
	}
	lost, err := t.log.lost(ctx, t.execution, across.head, n)
	if err != nil {
		return err
	}
	if lost {
		return t.reset(ctx, ResetTruncated)
	}
	t.coveredSeq, t.coveredPos = n, across.head.LastPos
	for _, item := range across.items {
		if err := t.give(item); err != nil {
			return err
		}
	}
	t.at = across.at
	return t.endedAt(ctx, across.head)
}

// lost reports whether the event after n is no longer kept.
func (l *Log) lost(ctx context.Context, execution uuid.UUID, head store.Head, n int64) (bool, error) {
	if head.FirstPos == 0 {
		return false, nil
	}
	first, _, err := l.read.Log(ctx, execution, 0, 1)
	return len(first) == 1 && first[0].Seq > n+1, err
}

// across is what a reader that has the events up to a seq still lacks of the
// blocks among them.
type across struct {
	// items are snapshots of the blocks that are open or were closed later, oldest
	// first, as of head.
	items []Item
	// at is the position before the next event.
	at   perdure.Cursor
	head store.Head
}

// across reads the blocks of up to seq n that are open or were closed after n.
// The cursor of a snapshot leads to all that follows it: to the blocks that are
// still to come from their beginnings, and to every event after n. What comes
// twice on the way is known by its seq and offset.
func (l *Log) across(ctx context.Context, execution uuid.UUID, n int64) (across, error) {
	blocks, pos, head, err := l.read.BlocksAcross(ctx, execution, n)
	if err != nil {
		return across{}, err
	}
	slices.SortFunc(blocks, func(a, b store.BlockContent) int { return cmp.Compare(a.Seq, b.Seq) })
	cursors, err := l.CursorsAt(ctx, execution, endsOf(blocks, pos)...)
	if err != nil {
		return across{}, err
	}
	a := across{head: head, at: cursors[len(blocks)]}
	for i, b := range blocks {
		item, err := snapshotItem(b, execution)
		if err != nil {
			return across{}, err
		}
		item.Cursor = cursors[i]
		a.items = append(a.items, item)
	}
	return a, nil
}

// endsOf returns for each block the position from which nothing is missed of the
// blocks behind it and of what follows pos; the last one is pos itself.
func endsOf(blocks []store.BlockContent, pos int64) []int64 {
	ends := make([]int64, len(blocks)+1)
	ends[len(blocks)] = pos
	for i, b := range slices.Backward(blocks) {
		ends[i] = pos
		pos = min(pos, b.FirstPos-1)
	}
	return ends
}

// snapshotItem renders a block as it is, all but the cursor.
func snapshotItem(b store.BlockContent, execution uuid.UUID) (Item, error) {
	data, err := BlockData(b, execution)
	return Item{Event: Snapshot, Type: b.Type, Seq: b.Seq, Data: data}, err
}

// OpenBlocks returns the data of snapshots of the blocks of up to seq n that are
// open or were closed after n, and the position after n, from which on nothing of
// what follows is missed. Error: not_found.
func (l *Log) OpenBlocks(ctx context.Context, execution uuid.UUID, n int64) ([]json.RawMessage, perdure.Cursor, error) {
	a, err := l.across(ctx, execution, n)
	if err != nil {
		return nil, perdure.Cursor{}, err
	}
	blocks := []json.RawMessage{}
	for _, item := range a.items {
		blocks = append(blocks, item.Data)
	}
	return blocks, a.at, nil
}
