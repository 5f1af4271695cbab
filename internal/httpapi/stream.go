package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
)

// agentEvents keeps what belongs to the agent: all but its tasks' own events
// and what their terminals print.
func agentEvents(t perdure.EventType) bool { return !t.IsTask() && t != perdure.EventTerminal }

// from gives the position, and the name of the field that says it.
func (in *streamInput) from() (eventlog.From, string, error) {
	switch {
	case in.LastEventID != "":
		return eventlog.From{Cursor: in.LastEventID}, "Last-Event-ID", nil
	case in.After != "":
		return eventlog.From{Cursor: in.After}, "after", nil
	case in.AfterSeq != "":
		n, err := strconv.ParseInt(in.AfterSeq, 10, 64)
		if err != nil || n < 0 {
			return eventlog.From{}, "", perdure.FieldErrorf("after_seq", "must be a whole number from 0")
		}
		return eventlog.From{AfterSeq: &n}, "after_seq", nil
	}
	return eventlog.From{}, "after", nil
}

var (
	errStopping = errors.New("the server is stopping")
	errKeyOver  = errors.New("the key is revoked")
)

// stream writes the log as server-sent events. It returns only after the log's
// end was written. Whatever else ends it resets the connection, because many
// clients take a clean end for success; their cursor takes them on.
func (s *server) stream(hc huma.Context, execution uuid.UUID, from eventlog.From, v view) {
	r, w := humago.Unwrap(hc)
	ctx, over := s.watch.enter(hc.Context())
	defer over()
	out := s.newEventWriter(w)
	out.begin()
	if r.Method == http.MethodHead {
		return
	}
	if err := s.copyLog(ctx, out, execution, from, v); err != nil {
		s.Logger.DebugContext(ctx, "stream reset", slog.String("execution", execution.String()), slog.Any("cause", err))
		panic(http.ErrAbortHandler)
	}
}

// look is how often a stream on which nothing happens looks whether it is time
// for a ping: so often that a ping is late by nothing, and so rarely that many
// such streams cost no time.
func (s *server) look() time.Duration { return max(s.PingEvery/5, 100*time.Millisecond) }

// view is how a stream shows the log.
type view struct {
	keep func(perdure.EventType) bool // nil keeps all
	html bool                         // text as rendered parts
}

func (s *server) copyLog(ctx context.Context, out *eventWriter, execution uuid.UUID, from eventlog.From, v view) error {
	f := filter{keep: v.keep}
	if err := f.recall(ctx, s.Log, execution, from); err != nil {
		return err
	}
	shown := func(i eventlog.Item) ([]eventlog.Item, error) { return []eventlog.Item{i}, nil }
	if v.html {
		html := newHTMLView(execution)
		var err error
		if from, err = html.resume(ctx, s.Log, from); err != nil {
			return err
		}
		shown = html.pass
	}
	from.Idle = s.look()
	for item, err := range s.Log.Tail(ctx, execution, from) {
		if err == nil {
			err = s.writeItem(out, f.pass(item), shown)
		}
		if err != nil {
			return err
		}
	}
	return out.flush()
}

// writeItem writes what the view shows of an item.
func (s *server) writeItem(out *eventWriter, item eventlog.Item, shown func(eventlog.Item) ([]eventlog.Item, error)) error {
	items, err := shown(item)
	for _, i := range items {
		if err == nil {
			err = out.item(i)
		}
	}
	return err
}

// eventWriter writes server-sent events. A write that the reader does not take
// in time fails.
type eventWriter struct {
	w         http.ResponseWriter
	c         *http.ResponseController
	timeout   time.Duration
	pingAfter time.Duration

	buf   []byte    // what is gathered; nil in between, so that idle streams hold none
	wrote time.Time // when something was written last
}

func (s *server) newEventWriter(w http.ResponseWriter) *eventWriter {
	return &eventWriter{w: w, c: http.NewResponseController(w), timeout: s.WriteTimeout, pingAfter: s.PingEvery - s.look()}
}

// flushAt is how much is gathered while there is more to write.
const flushAt = 16 << 10

// gathering holds buffers of streams that have nothing to write, as *[]byte.
var gathering sync.Pool

func (e *eventWriter) begin() {
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
	e.wrote = time.Now()
	_ = e.c.Flush() // if the reader has gone, the first write tells
}

// item writes what the filter gave, or a ping when it is time for one.
func (e *eventWriter) item(i eventlog.Item) error {
	switch {
	case i.Event != "":
		e.event(i.Event, i.Cursor, i.Data)
	case time.Since(e.wrote) > e.pingAfter:
		e.event(eventlog.Ping, i.Cursor, []byte("{}"))
	}
	if len(e.buf) >= flushAt || !i.More {
		return e.flush()
	}
	return nil
}

func (e *eventWriter) event(name perdure.EventType, id perdure.Cursor, data []byte) {
	b := append(e.buffer(), "id: "...)
	b = append(b, id.String()...)
	b = append(b, "\nevent: "...)
	b = append(b, name...)
	b = append(b, "\ndata: "...)
	b = append(b, data...)
	e.buf = append(b, "\n\n"...)
}

// buffer gives what is gathered so far, to append to.
func (e *eventWriter) buffer() []byte {
	if e.buf == nil {
		if b, ok := gathering.Get().(*[]byte); ok {
			e.buf = (*b)[:0]
		}
	}
	return e.buf
}

func (e *eventWriter) flush() error {
	if len(e.buf) == 0 {
		return nil
	}
	if err := e.c.SetWriteDeadline(time.Now().Add(e.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	e.wrote = time.Now()
	_, err := e.w.Write(e.buf)
	if cap(e.buf) <= 2*flushAt {
		full := e.buf
		gathering.Put(&full)
	}
	e.buf = nil
	if err != nil {
		return err
	}
	return e.c.Flush()
}
