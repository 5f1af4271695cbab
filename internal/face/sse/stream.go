package sse

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	eventlog "github.com/perdure/perdure/internal/log"
)

// agentEvents is a filter that accepts the events of the agent. It rejects the events of the
// agent's tasks, and terminal output.
func agentEvents(t perdure.EventType) bool { return !t.IsTask() && t != perdure.EventTerminal }

// from returns the position at which a stream starts, and the name of the header or parameter that
// contained this position.
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

// stream sends the log as server-sent events. The response ends cleanly only after the end of the
// log was sent. In any other case the server resets the connection. Many clients take a clean end
// for success, but resume from their cursor after a reset.
//
// If possible, stream takes over the connection, releases everything that belongs to the request,
// and continues after the handler has returned. It calls the function leave at the end of the
// stream.
func (s *server) stream(hc huma.Context, execution uuid.UUID, from eventlog.From, v view, leave func()) {
	r, w := humago.Unwrap(hc)
	asEvents(w.Header())
	if own, err := takeOver(w, r); err == nil {
		ctx := front.Detached(hc.Context(), execution)
		s.Streams.Go(func() {
			defer leave()
			s.streamAlone(ctx, own, execution, from, v)
		})
		return
	}
	defer leave()
	ctx, over := s.Supervise(hc.Context())
	defer over()
	out := s.newEventWriter(newResponseSink(w))
	out.begin()
	if r.Method == http.MethodHead {
		return
	}
	if err := s.copyLog(ctx, out, execution, from, v); err != nil {
		s.wasReset(ctx, err)
		panic(http.ErrAbortHandler)
	}
}

// streamAlone sends the log over a connection that takeOver has taken from the HTTP server.
func (s *server) streamAlone(ctx context.Context, own *hijackedConn, execution uuid.UUID, from eventlog.From, v view) {
	ctx, over := s.Supervise(ctx)
	defer over()
	ctx, left := context.WithCancelCause(ctx)
	defer left(nil)
	// When the context ends, own.close closes the connection. That also ends a blocked write.
	cut := context.AfterFunc(ctx, own.close)
	defer func() { cut(); own.close() }()
	s.Streams.Go(func() { own.listen(left) })
	defer s.recoveredAlone(ctx, execution)
	out := s.newEventWriter(own)
	out.begin()
	err := s.copyLog(ctx, out, execution, from, v)
	if err == nil {
		err = own.finish()
	}
	if err != nil {
		s.wasReset(ctx, err)
	}
}

// wasReset logs why the connection of a stream was reset. The reader reconnects by itself. But if
// the log is damaged, the reader's next stream fails too, so wasReset logs that cause as an error.
func (s *server) wasReset(ctx context.Context, cause error) {
	level := slog.LevelDebug
	var coded *perdure.Error
	if errors.As(cause, &coded) && coded.Code == perdure.Internal {
		level = slog.LevelError
	}
	s.Lines(ctx).Log(ctx, level, "stream reset", slog.Any("cause", cause))
}

// recoveredAlone recovers from a panic of streamAlone and logs it. The caller then resets the
// connection.
func (s *server) recoveredAlone(ctx context.Context, execution uuid.UUID) {
	if cause := recover(); cause != nil {
		s.Lines(ctx).ErrorContext(ctx, "panic in a stream", slog.Any("panic", cause), slog.String("stack", string(debug.Stack())))
	}
}

// view selects the events of a log that a stream sends, and the form of their text.
type view struct {
	keep func(perdure.EventType) bool // nil keeps all events
	html bool                         // send text as parts rendered to HTML
}

func (s *server) copyLog(ctx context.Context, out *eventWriter, execution uuid.UUID, from eventlog.From, v view) error {
	var shown func(eventlog.Item) ([]eventlog.Item, error) // nil sends each item unchanged
	if v.html {
		html := newHTMLView(execution)
		html.at = func(pos int64) (perdure.Cursor, error) { return s.Log.CursorAt(ctx, execution, pos) }
		var err error
		if from, err = html.resume(ctx, s.Log, from); err != nil {
			return err
		}
		html.again = func(block int64) ([]eventlog.Item, error) { return s.during(ctx, execution, block, html.shownTo, v) }
		shown = html.pass
	}
	f := filter{keep: v.keep}
	if err := f.recall(ctx, s.Log, execution, from); err != nil {
		return err
	}
	from.Idle = s.look()
	for item, err := range s.Log.Tail(ctx, execution, from) {
		if err == nil {
			err = s.writeItem(out, f.pass(item), shown)
		}
		if err != nil {
			return err
		}
		s.Delivered(front.TransportSSE, item)
	}
	return out.flush()
}

// during returns the events that the view selects, from the start of a text block up to a position
// of the log.
func (s *server) during(ctx context.Context, execution uuid.UUID, block, upTo int64, v view) ([]eventlog.Item, error) {
	at, err := s.Log.BlockStart(ctx, execution, block, perdure.EventToken)
	if err != nil || at.Pos == 0 || at.Pos >= upTo {
		return nil, err
	}
	f, items := filter{keep: v.keep}, []eventlog.Item{}
	if err := f.recall(ctx, s.Log, execution, eventlog.From{Cursor: at.String()}); err != nil {
		return nil, err
	}
	for at.Pos < upTo {
		p, err := s.Log.Page(ctx, execution, at.String(), 500)
		if err != nil || p.Next == at {
			return items, err
		}
		for _, i := range p.Items {
			if i = f.pass(i); i.Event != "" && i.Cursor.Pos <= upTo {
				items = append(items, i)
			}
		}
		at = p.Next
	}
	return items, nil
}

// writeItem writes the items that the function `shown` returns for an item of the log. If `shown`
// is nil, it writes the item itself.
func (s *server) writeItem(out *eventWriter, item eventlog.Item, shown func(eventlog.Item) ([]eventlog.Item, error)) error {
	if shown == nil {
		return out.item(item)
	}
	items, err := shown(item)
	for _, i := range items {
		if err == nil {
			err = out.item(i)
		}
	}
	return err
}
