package sse

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	eventlog "github.com/perdure/perdure/internal/log"
)

// eventWriter writes server-sent events to a reader. A write fails if the reader does not receive
// a piece within the write timeout.
type eventWriter struct {
	to        eventSink
	timeout   time.Duration
	pingAfter time.Duration

	buf   []byte    // buffered events; nil between flushes, so that idle streams hold no buffer
	wrote time.Time // time of the last write
}

// eventSink is what an eventWriter writes to.
type eventSink interface {
	// begin sends the headers. If the reader has disconnected, the first write fails.
	begin()
	// write sends the bytes in pieces, without buffering. It fails if the reader does not receive a
	// piece within the timeout. All pieces together may take longer.
	write(b []byte, timeout time.Duration) error
}

func (s *server) newEventWriter(to eventSink) *eventWriter {
	return &eventWriter{to: to, timeout: s.WriteTimeout, pingAfter: s.PingEvery - s.look()}
}

// look returns the interval at which a stream without new events checks whether a ping is due.
func (s *server) look() time.Duration { return max(s.PingEvery/5, 100*time.Millisecond) }

// flushAt is the number of buffered bytes at which a stream sends its buffer, even if more events
// follow at once.
const flushAt = 16 << 10

// gathering is a pool of buffers for events. Its elements have the type *[]byte, and all streams
// share it. A stream returns its buffer to the pool while it has nothing to write.
var gathering sync.Pool

// gathered returns an empty buffer from the pool.
func gathered() []byte {
	if b, ok := gathering.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

// ungather returns a buffer to the pool.
func ungather(b []byte) {
	if cap(b) <= 2*flushAt {
		gathering.Put(&b)
	}
}

// asEvents sets the response headers of an event stream.
func asEvents(h http.Header) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
}

func (e *eventWriter) begin() {
	e.wrote = time.Now()
	e.to.begin()
}

// item writes an item of a log as an event. For an item without an event, it writes a ping if a
// ping is due.
func (e *eventWriter) item(i eventlog.Item) error {
	switch {
	case i.Event != "":
		e.event(i.Event, i.Cursor, i.Data())
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

// buffer returns the buffer with the events that are not sent yet. The caller appends to it.
func (e *eventWriter) buffer() []byte {
	if e.buf == nil {
		e.buf = gathered()
	}
	return e.buf
}

func (e *eventWriter) flush() error {
	if len(e.buf) == 0 {
		return nil
	}
	e.wrote = time.Now()
	err := e.to.write(e.buf, e.timeout)
	ungather(e.buf)
	e.buf = nil
	return err
}

// responseSink implements eventSink for the response to a request.
type responseSink struct {
	w http.ResponseWriter
	c *http.ResponseController
}

func newResponseSink(w http.ResponseWriter) responseSink {
	return responseSink{w, http.NewResponseController(w)}
}

func (a responseSink) begin() {
	a.w.WriteHeader(http.StatusOK)
	_ = a.c.Flush() // if the reader has disconnected, the first write fails
}

func (a responseSink) write(b []byte, timeout time.Duration) error {
	for piece := range slices.Chunk(b, front.PieceBytes) {
		if err := a.c.SetWriteDeadline(time.Now().Add(timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := a.w.Write(piece); err != nil {
			return err
		}
	}
	return a.c.Flush()
}
