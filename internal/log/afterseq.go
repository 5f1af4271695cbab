package log

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// beginAfterSeq sends a full snapshot of every block that was open at event n. It then moves the
// reader's position to just before the first event after n.
func (t *tail) beginAfterSeq(ctx context.Context, n int64) error {
	across, err := t.log.snapshotsAt(ctx, t.execution, n)
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

// lost reports whether the event that follows event n was pruned.
func (l *Log) lost(ctx context.Context, execution uuid.UUID, head store.Head, n int64) (bool, error) {
	if head.FirstPos == 0 {
		return false, nil
	}
	first, _, err := l.read.Log(ctx, execution, 0, 1)
	return len(first) == 1 && first[0].Seq > n+1, err
}

// seqSnapshots contains snapshots for a reader that resumes and knows only the seq of the newest
// event that it has. Such a reader may lack the end of a block that was open at that event.
type seqSnapshots struct {
	// items are snapshots of the blocks that were open at the reader's newest event, sorted by seq.
	// Each contains the text of its block up to the end of the log.
	items []Item
	// at is the position directly before the event that follows the reader's newest event.
	at   perdure.Cursor
	head store.Head
}

// snapshotsAt returns snapshots of the blocks that were open at event n, sorted by seq. A reader
// that resumes at the cursor of one of the snapshots misses nothing: it receives the blocks of all
// later snapshots from their first chunk, and every event after n. It may receive some data twice,
// and recognises such data by seq and offset.
func (l *Log) snapshotsAt(ctx context.Context, execution uuid.UUID, n int64) (seqSnapshots, error) {
	blocks, pos, head, err := l.read.BlocksAcross(ctx, execution, n)
	if err != nil {
		return seqSnapshots{}, err
	}
	slices.SortFunc(blocks, func(a, b store.BlockContent) int { return cmp.Compare(a.Seq, b.Seq) })
	cursors, err := l.CursorsAt(ctx, execution, endsOf(blocks, pos)...)
	if err != nil {
		return seqSnapshots{}, err
	}
	a := seqSnapshots{head: head, at: cursors[len(blocks)]}
	for i, b := range blocks {
		item := snapshotItem(b, execution)
		item.Cursor = cursors[i]
		a.items = append(a.items, item)
	}
	return a, nil
}

// endsOf returns a position for each block: where a reader resumes after it has received the
// snapshots up to this block. From there the reader receives the later blocks of the slice from
// their first chunk, and everything after `pos`. The last element of the result is `pos` itself.
func endsOf(blocks []store.BlockContent, pos int64) []int64 {
	ends := make([]int64, len(blocks)+1)
	ends[len(blocks)] = pos
	for i, b := range slices.Backward(blocks) {
		ends[i] = pos
		pos = min(pos, b.FirstPos-1)
	}
	return ends
}

// OpenBlocks returns the data of snapshots of the blocks that were open at event n. It also returns
// the position after event n, from which a reader continues. Errors: not_found.
func (l *Log) OpenBlocks(ctx context.Context, execution uuid.UUID, n int64) ([]json.RawMessage, perdure.Cursor, error) {
	a, err := l.snapshotsAt(ctx, execution, n)
	if err != nil {
		return nil, perdure.Cursor{}, err
	}
	blocks := []json.RawMessage{}
	for _, item := range a.items {
		blocks = append(blocks, item.Data())
	}
	return blocks, a.at, nil
}
