package httpapi

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
)

// filter leaves events out of a stream, and tells the client on each of the
// others which seq was left out last, so that it can tell filtered from
// missing.
type filter struct {
	keep   func(perdure.EventType) bool // nil keeps all
	spared int64                        // the newest seq that was left out
}

// recall finds what was left out before the position, so that a stream that is
// resumed says the same as one that was not interrupted.
func (f *filter) recall(ctx context.Context, log *eventlog.Log, execution uuid.UUID, from eventlog.From) error {
	if f.keep == nil || from.Cursor == "" {
		return nil
	}
	c, err := perdure.ParseCursor(from.Cursor)
	if err != nil {
		return err
	}
	f.spared, err = log.LastSeq(ctx, execution, c.Pos, func(t perdure.EventType) bool { return !f.keep(t) })
	return err
}

// pass gives the item as this stream shows it; of one that is left out, the
// position alone.
func (f *filter) pass(i eventlog.Item) eventlog.Item {
	switch {
	case f.keep == nil || i.Event == "" || i.Event == eventlog.End:
		return i
	case i.Event == eventlog.Reset:
		f.spared = 0
		return i
	case !f.keep(i.Type):
		f.spared = max(f.spared, i.Seq)
		return eventlog.Item{Cursor: i.Cursor, More: i.More}
	}
	data := append(make([]byte, 0, len(i.Data)+32), i.Data[:len(i.Data)-1]...)
	data = append(data, `,"prevSeq":`...)
	data = strconv.AppendInt(data, f.spared, 10)
	i.Data = append(data, '}')
	return i
}
