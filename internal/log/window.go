package log

import (
	"context"
	"math"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Span selects the events of a window: the events after the seq After, or those before the seq
// Before. If both are nil, it selects the newest events.
type Span struct {
	After, Before *int64
	Limit         int
}

// Window is a part of a log, counted in events. Each block counts as one event, and its item is a
// full snapshot that replaces the client's copy of the block.
type Window struct {
	// Across is set in a window of the events after a seq. It contains snapshots of the blocks that
	// were open at the event with that seq, oldest first, complete up to the position AcrossAt. A
	// reader that was disconnected inside such a block needs these snapshots.
	Across   []Item
	AcrossAt int64
	Items    []Item // oldest first

	First, Last int64 // seqs of the first and the last of Items; 0 if there are none
	// Max is the seq of the newest event of the log.
	Max int64
	// More reports whether the log has further events: after Last if Span.After is set, otherwise
	// before First.
	More bool
	// Reset is set if Span.After is greater than the newest seq of the log, or if the event after
	// Span.After was pruned. The window then has the newest events, and the client first drops its
	// copy of the log.
	Reset *ResetData
	// At is the position up to which the blocks in the window are complete.
	At perdure.Cursor
}

// Window returns at most s.Limit events. It returns fewer if they exceed about 1 MiB. The cursor of
// each item is the position after its first record, so a reader that resumes there may receive text
// of a block that it already has. Errors: invalid_argument, not_found.
func (l *Log) Window(ctx context.Context, execution uuid.UUID, s Span) (Window, error) {
	if err := s.check(); err != nil {
		return Window{}, err
	}
	head, err := l.read.LogHead(ctx, execution)
	if err != nil {
		return Window{}, err
	}
	reason, err := l.seqMisfit(ctx, execution, head, s.After)
	if err != nil {
		return Window{}, err
	}
	if s.After != nil && reason == "" {
		return l.forward(ctx, execution, *s.After, s.Limit)
	}
	high := int64(math.MaxInt64) // no limit: also events committed after head was read
	if s.Before != nil {
		high = *s.Before - 1
	}
	low := max(0, min(high, head.LastSeq)-int64(s.Limit))
	w, err := l.backward(ctx, execution, low, high)
	if err == nil && reason != "" {
		w.Reset, err = l.resetData(ctx, execution, reason)
	}
	return w, err
}

// seqMisfit returns the reason why a client must get a reset; "" if it needs none. `after` is the
// seq of the client's newest event.
func (l *Log) seqMisfit(ctx context.Context, execution uuid.UUID, head store.Head, after *int64) (string, error) {
	if after == nil {
		return "", nil
	}
	if *after > head.LastSeq {
		return ResetAhead, nil
	}
	lost, err := l.lost(ctx, execution, head, *after)
	if lost {
		return ResetTruncated, err
	}
	return "", err
}

func (l *Log) resetData(ctx context.Context, execution uuid.UUID, reason string) (*ResetData, error) {
	_, data, err := l.resetTo(ctx, execution, reason)
	return &data, err
}

func (s Span) check() error {
	switch {
	case s.Limit < 1:
		return perdure.FieldErrorf("limit", "must be at least 1")
	case s.After != nil && s.Before != nil:
		return perdure.FieldErrorf("after_seq", "and before_seq exclude each other")
	case s.After != nil && *s.After < 0:
		return perdure.FieldErrorf("after_seq", "must not be negative")
	case s.Before != nil && *s.Before < 0:
		return perdure.FieldErrorf("before_seq", "must not be negative")
	}
	return nil
}

func (l *Log) forward(ctx context.Context, execution uuid.UUID, after int64, limit int) (Window, error) {
	events, head, err := l.read.Events(ctx, execution, after, after+int64(limit))
	if err != nil {
		return Window{}, err
	}
	w, err := l.windowOf(ctx, execution, events, head)
	if err != nil {
		return Window{}, err
	}
	w.bound()
	w.More = max(after, w.Last) < head.LastSeq
	return w, l.addEarlierBlocks(ctx, execution, &w, after)
}

// addEarlierBlocks adds snapshots of the blocks that were open at the event before the window,
// whose seq is `after`. Because the snapshots are read after the window's events, they are complete
// at least up to the window's position.
func (l *Log) addEarlierBlocks(ctx context.Context, execution uuid.UUID, w *Window, after int64) error {
	if after == 0 {
		return nil
	}
	a, err := l.snapshotsAt(ctx, execution, after)
	w.Across, w.AcrossAt = a.items, a.head.LastPos
	return err
}

// backward returns the newest events with a seq greater than `low` and at most `high`. It returns
// as many as one read of the store returns.
func (l *Log) backward(ctx context.Context, execution uuid.UUID, low, high int64) (Window, error) {
	for {
		events, head, err := l.read.Events(ctx, execution, low, high)
		if err != nil {
			return Window{}, err
		}
		if n := len(events); n > 0 && events[n-1].Seq < min(high, head.LastSeq) {
			low = events[n-1].Seq
			continue
		}
		slices.Reverse(events) // fill begins with the events closest to high
		w, err := l.windowOf(ctx, execution, events, head)
		slices.Reverse(w.Items)
		w.bound()
		if err == nil && w.First > 1 {
			w.More, err = l.keepsBefore(ctx, execution, w.First)
		}
		return w, err
	}
}

// keepsBefore reports whether the log still has an event before the seq.
func (l *Log) keepsBefore(ctx context.Context, execution uuid.UUID, seq int64) (bool, error) {
	first, _, err := l.read.Log(ctx, execution, 0, 1)
	return len(first) == 1 && first[0].Seq < seq, err
}

func (l *Log) windowOf(ctx context.Context, execution uuid.UUID, events []store.Event, head store.Head) (Window, error) {
	w := Window{Max: head.LastSeq, At: l.Cursor(head)}
	return w, l.fill(ctx, execution, &w, events, head)
}

// bound sets First and Last to the seqs of the first and the last item.
func (w *Window) bound() {
	if n := len(w.Items); n > 0 {
		w.First, w.Last = w.Items[0].Seq, w.Items[n-1].Seq
	}
}

// windowBytes is the approximate maximum size of a window in bytes.
const windowBytes = 1 << 20

// fill adds as many events to the window as fit, but at least one. Their sizes include the contents
// of entries.
func (l *Log) fill(ctx context.Context, execution uuid.UUID, w *Window, events []store.Event, head store.Head) error {
	for left := windowBytes; len(events) > 0; {
		records := make([]perdure.Record, len(events)) // zero for blocks, which refer to no entry
		for i, e := range events {
			if e.Record != nil {
				records[i] = *e.Record
			}
		}
		joined, n, err := l.joinEntries(ctx, execution, records)
		if err != nil {
			return err
		}
		for _, e := range events[:n] {
			item, err := l.eventItem(execution, joined, e, head)
			if err != nil {
				return err
			}
			item.Cursor = firstCursor(e, w.At.Epoch)
			if left -= len(item.Data()); left < 0 && len(w.Items) > 0 {
				return nil
			}
			w.Items = append(w.Items, item)
		}
		events = events[n:]
	}
	return nil
}

// firstCursor returns the cursor after the first record of an event.
func firstCursor(e store.Event, epoch uint64) perdure.Cursor {
	if e.Record != nil {
		return perdure.Cursor{Epoch: epoch, Pos: e.Record.Pos, Nonce: e.Record.Nonce}
	}
	return perdure.Cursor{Epoch: epoch, Pos: e.Block.FirstPos, Nonce: e.Block.FirstNonce}
}

// eventItem returns the item of an event. The cursor of a block's item is the position after the
// first record of the block.
func (l *Log) eventItem(execution uuid.UUID, joined entries, e store.Event, head store.Head) (item Item, err error) {
	if e.Record != nil {
		item, err = joined.item(execution, *e.Record)
	} else {
		item = snapshotItem(*e.Block, execution)
	}
	item.Cursor = firstCursor(e, l.epoch(head))
	return item, err
}
