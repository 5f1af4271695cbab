package sse

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
)

// filter omits events from a stream. It adds to each other event the seq of the last omitted event
// (prevSeq) and the seq of the last sent event (prevShown). With both, the client can distinguish
// omitted events from lost ones.
type filter struct {
	keep   func(perdure.EventType) bool // nil keeps all events
	spared int64                        // the newest omitted seq
	given  int64                        // the newest sent seq
}

// recall reads the newest omitted and the newest sent seq before the position, so that a resumed
// stream has the same numbers as an uninterrupted one.
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

// begin sets first as the first seq of the log. Events before it were pruned and count as omitted.
func (f *filter) begin(first int64) {
	f.spared = max(f.spared, first-1)
	if f.given < first {
		f.given = 0
	}
}

// reset starts the numbers over at a reset of the log.
func (f *filter) reset(i eventlog.Item) {
	f.spared, f.given = 0, 0
	f.begin(i.Reset.FirstAvailable)
}

// pass returns the item with its numbers. For an event that the filter omits, it returns an item
// that only moves the position.
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
