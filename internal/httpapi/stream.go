package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
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
	ctx, cancel := context.WithCancelCause(hc.Context())
	stopped := s.cancelOnStop(ctx, cancel)
	defer func() { cancel(nil); <-stopped }()
	out := &eventWriter{w: w, c: http.NewResponseController(w), timeout: s.WriteTimeout}
	out.begin()
	if r.Method == http.MethodHead {
		return
	}
	if err := s.copyLog(ctx, out, execution, from, v); err != nil {
		s.Logger.DebugContext(ctx, "stream reset", slog.String("execution", execution.String()), slog.Any("cause", err))
		panic(http.ErrAbortHandler)
	}
}

// cancelOnStop ends the context when the server stops. The channel closes when
// its goroutine has ended.
func (s *server) cancelOnStop(ctx context.Context, cancel context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.Stop:
			cancel(errStopping)
		case <-ctx.Done():
		}
	}()
	return done
}

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
	key := recheck{s: s, at: time.Now()}
	for item, err := range s.Log.Tail(ctx, execution, from) {
		if err == nil {
			err = key.still(ctx)
		}
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
			err = out.item(i, i.Cursor, s.PingEvery)
		}
	}
	return err
}

// recheck looks at the key of an open stream now and then.
type recheck struct {
	s  *server
	at time.Time // of the last look
}

func (k *recheck) still(ctx context.Context) error {
	if time.Since(k.at) < k.s.RecheckEvery {
		return nil
	}
	k.at = time.Now()
	c := callerOf(ctx)
	org, role, err := k.s.Auth.Authenticate(ctx, c.secret)
	if perdure.IsCode(err, perdure.Unauthenticated) || (err == nil && (org != c.org || role != c.role)) {
		return errKeyOver
	}
	return nil // a store that does not answer says nothing about the key
}

// eventWriter writes server-sent events. A write that the reader does not take
// in time fails.
type eventWriter struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	timeout time.Duration

	buf   bytes.Buffer
	wrote time.Time // when something was written last
}

// flushAt is how much is gathered while there is more to write.
const flushAt = 16 << 10

func (e *eventWriter) begin() {
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	e.w.WriteHeader(http.StatusOK)
	e.wrote = time.Now()
	_ = e.c.Flush() // if the reader has gone, the first write tells
}

// item writes what the filter gave, or a ping when it is time for one. at is
// the position, which moves with what is filtered out, too.
func (e *eventWriter) item(i eventlog.Item, at perdure.Cursor, pingEvery time.Duration) error {
	due := time.Since(e.wrote) > pingEvery-time.Second // it is looked at once a second
	switch {
	case i.Event != "":
		e.event(i.Event, at, i.Data)
	case due:
		e.event(eventlog.Ping, at, []byte("{}"))
	}
	if e.buf.Len() >= flushAt || !i.More {
		return e.flush()
	}
	return nil
}

func (e *eventWriter) event(name perdure.EventType, id perdure.Cursor, data []byte) {
	fmt.Fprintf(&e.buf, "id: %s\nevent: %s\ndata: %s\n\n", id, name, data)
}

func (e *eventWriter) flush() error {
	if e.buf.Len() == 0 {
		return nil
	}
	if err := e.c.SetWriteDeadline(time.Now().Add(e.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	e.wrote = time.Now()
	if _, err := e.buf.WriteTo(e.w); err != nil {
		return err
	}
	return e.c.Flush()
}
