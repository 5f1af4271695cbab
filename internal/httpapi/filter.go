package httpapi

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
)

// filter omits events from a stream. It adds to every other event the seq of the last omitted event
// (prevSeq) and the seq of the last shown event (prevShown). From both, the client can tell
// filtered events from missing ones.
type filter struct {
	keep   func(perdure.EventType) bool // nil keeps all events
	spared int64                        // the newest omitted seq
	given  int64                        // the newest shown seq
}

// recall reads the newest omitted and shown seqs before the position, so that a resumed stream
// equals an uninterrupted one.
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

// reset starts over where the log does.
func (f *filter) reset(i eventlog.Item) {
	var data eventlog.ResetData
	f.spared, f.given = 0, 0
	if json.Unmarshal(i.Data, &data) == nil { // the data was written by the log's reader
		f.begin(data.FirstAvailable)
	}
}

// pass returns the item as this stream shows it. For an omitted item it returns only the position.
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
	data := append(make([]byte, 0, len(i.Data)+64), i.Data[:len(i.Data)-1]...)
	data = append(data, `,"prevSeq":`...)
	data = strconv.AppendInt(data, f.spared, 10)
	data = append(data, `,"prevShown":`...)
	data = strconv.AppendInt(data, f.given, 10)
	f.given = max(f.given, i.Seq)
	i.Data = append(data, '}')
	return i
}
