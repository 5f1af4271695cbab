package sse

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
)

// filter omits some events from a stream. It adds two numbers to each event that it keeps: the seq
// of the last omitted event (prevSeq) and the seq of the last kept event (prevShown). From them,
// the client can tell omitted events from lost ones.
type filter struct {
	keep   func(perdure.EventType) bool // nil keeps all events
	spared int64                        // seq of the newest omitted event
	given  int64                        // seq of the newest event that was kept
}

// recall sets the seqs for a resumed stream: those of the newest omitted and the newest kept event
// before the stream's start position. The resumed stream then has the same numbers as an
// uninterrupted one.
func (f *filter) recall(ctx context.Context, log *eventlog.Log, execution uuid.UUID, from eventlog.From) error {
	if f.keep == nil {
		return nil
	}
	pos, err := log.Position(ctx, execution, from)
	if err != nil || pos == 0 {
		return err
	}
	var given, spared []perdure.EventType
	for _, t := range perdure.EventTypes {
		if f.keep(t) {
			given = append(given, t)
		} else {
			spared = append(spared, t)
		}
	}
	if f.given, err = log.LastSeq(ctx, execution, pos, given); err != nil {
		return err
	}
	if f.spared, err = log.LastSeq(ctx, execution, pos, spared); err != nil {
		return err
	}
	first, err := log.FirstSeq(ctx, execution)
	f.begin(first)
	return err
}

// begin prepares the filter for a log whose first remaining event has the seq `first`. The events
// before it were pruned and count as omitted.
func (f *filter) begin(first int64) {
	f.spared = max(f.spared, first-1)
	if f.given < first {
		f.given = 0
	}
}

// reset forgets which events were omitted and kept, because the reader starts over after the reset
// i. Events before the first one that the log still has count as omitted.
func (f *filter) reset(i eventlog.Item) {
	f.spared, f.given = 0, 0
	f.begin(i.Reset.FirstAvailable)
}

// pass returns the item to send for an item of the log. A kept event gets prevSeq and prevShown.
// For an omitted event, pass returns an item without an event, which only moves the reader's
// position.
func (f *filter) pass(i eventlog.Item) eventlog.Item {
	switch {
	case f.keep == nil || i.Event == "" || i.Event == eventlog.End:
		return i
	case i.Event == eventlog.Reset:
		f.reset(i)
		return i
	case !f.keep(i.Type):
		f.spared = max(f.spared, i.Seq)
		return eventlog.Item{Cursor: i.Cursor, More: i.More}
	}
	shown := i.WithPrevious(f.spared, f.given)
	f.given = max(f.given, i.Seq)
	return shown
}
