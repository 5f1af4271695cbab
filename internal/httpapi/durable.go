package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
)

// The log of an execution as a stream of the Durable Streams protocol, in its
// JSON mode, read-only. An offset is a position in the log, padded with zeros so
// that offsets sort as texts.

const (
	// durablePath begins the paths of such streams.
	durablePath = "/v1/stream/"
	// durableDigits is the length of an offset.
	durableDigits = 20
	// durablePage is how many records one answer has at most.
	durablePage = 1000
	// durableWait is how long a long poll waits, and durableLive how long an
	// event stream is kept open: then the client comes again.
	durableWait = 20 * time.Second
	durableLive = time.Minute
)

// durableRead is one request of a reader.
type durableRead struct {
	*server
	w         http.ResponseWriter
	r         *http.Request
	execution uuid.UUID
	pos       int64
	now       bool // the reader wants only what comes
}

func (s *server) durableStream(w http.ResponseWriter, r *http.Request) {
	d := &durableRead{server: s, w: w, r: r}
	err := d.serve()
	if err == nil {
		return
	}
	var p *problem
	if !errors.As(err, &p) {
		p = s.problemOf(r.Context(), err)
	}
	p.write(w)
}

// gone is the answer to an offset before what is kept.
func gone() *problem {
	p := newProblem(perdure.NotFound, "what follows this offset is no longer kept; begin with offset=-1")
	p.Status = http.StatusGone
	return p
}

func (d *durableRead) serve() error {
	c := callerOf(d.r.Context())
	if p := strange(c, c.org); p != nil {
		return p
	}
	id, err := parseID("execution", d.r.PathValue("id"))
	if err != nil {
		return err
	}
	if _, err := d.Engine.Read().Lazy().Execution(d.r.Context(), c.org, id); err != nil {
		return err
	}
	d.execution = id
	if err := d.parse(); err != nil {
		return err
	}
	switch live := d.r.URL.Query().Get("live"); {
	case d.r.Method == http.MethodHead:
		return d.head()
	case live == "":
		return d.catchUp()
	case !d.r.URL.Query().Has("offset"):
		return perdure.FieldErrorf("offset", "is needed with live; -1 is the beginning")
	case live == "long-poll":
		return d.longPoll()
	case live == "sse":
		return d.events()
	default:
		return perdure.FieldErrorf("live", "%q is not one of long-poll, sse", live)
	}
}

// parse reads the offset: -1 or none is the beginning, now the end.
func (d *durableRead) parse() (err error) {
	q := d.r.URL.Query()
	if len(q["offset"]) > 1 || q.Has("offset") && q.Get("offset") == "" {
		return perdure.FieldErrorf("offset", "must be given once, and not empty")
	}
	head, err := d.Engine.Read().LogHead(d.r.Context(), d.execution)
	if err != nil {
		return err
	}
	switch offset := q.Get("offset"); {
	case offset == "" || offset == "-1":
	case offset == "now":
		d.now, d.pos = true, head.LastPos
	default:
		d.pos, err = strconv.ParseInt(offset, 10, 64)
		if err != nil || len(offset) != durableDigits || d.pos < 0 || d.pos > head.LastPos {
			return perdure.FieldErrorf("offset", "is none that this stream gave")
		}
	}
	return nil
}

func durableOffset(pos int64) string { return fmt.Sprintf("%0*d", durableDigits, pos) }

// page reads what follows the position.
func (d *durableRead) page() (eventlog.Page, error) {
	head, err := d.Engine.Read().LogHead(d.r.Context(), d.execution)
	if err != nil {
		return eventlog.Page{}, err
	}
	at := perdure.Cursor{Epoch: d.Log.Cursor(head).Epoch, Pos: d.pos}
	p, err := d.Log.Page(d.r.Context(), d.execution, at.String(), durablePage)
	if err == nil && p.Reset != nil && d.pos > 0 {
		return p, gone()
	}
	return p, err
}

// closed tells whether the log has ended at the page's end.
func (d *durableRead) closed(p eventlog.Page) (bool, error) {
	if !p.UpToDate {
		return false, nil
	}
	return d.Log.AtEnd(d.r.Context(), d.execution, eventlog.From{Cursor: p.Next.String()})
}

// describe sets the headers that say where the answer leads.
func (d *durableRead) describe(p eventlog.Page) (closed bool, err error) {
	h := d.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Stream-Next-Offset", durableOffset(p.Next.Pos))
	h.Set("Stream-Cursor", d.cursor())
	if p.UpToDate {
		h.Set("Stream-Up-To-Date", "true")
	}
	if closed, err = d.closed(p); closed {
		h.Set("Stream-Closed", "true")
	}
	return closed, err
}

// cursor numbers spans of time, for caches that answer many readers at once; it
// is never one that the reader has had.
func (d *durableRead) cursor() string {
	span := time.Now().Unix() / int64(durableWait/time.Second)
	if had, err := strconv.ParseInt(d.r.URL.Query().Get("cursor"), 10, 64); err == nil && had >= span {
		span = had + 1
	}
	return strconv.FormatInt(span, 10)
}

func (d *durableRead) head() error {
	head, err := d.Engine.Read().LogHead(d.r.Context(), d.execution)
	if err != nil {
		return err
	}
	end := eventlog.Page{Next: d.Log.Cursor(head), UpToDate: true}
	if _, err := d.describe(end); err != nil {
		return err
	}
	d.w.Header().Set("Cache-Control", "no-store")
	d.w.WriteHeader(http.StatusOK)
	return nil
}

func (d *durableRead) catchUp() error {
	if d.now {
		head, err := d.Engine.Read().LogHead(d.r.Context(), d.execution)
		if err != nil {
			return err
		}
		if _, err := d.describe(eventlog.Page{Next: d.Log.Cursor(head), UpToDate: true}); err != nil {
			return err
		}
		d.w.Header().Set("Cache-Control", "no-store")
		_, _ = d.w.Write([]byte("[]")) // the reader has gone
		return nil
	}
	p, err := d.page()
	if err != nil {
		return err
	}
	return d.answer(p)
}

// answer gives a page, unless the reader has it already.
func (d *durableRead) answer(p eventlog.Page) error {
	closed, err := d.describe(p)
	if err != nil {
		return err
	}
	tag := fmt.Sprintf("%q", fmt.Sprintf("%s:%d:%d:%v", d.execution, d.pos, p.Next.Pos, closed))
	d.w.Header().Set("ETag", tag)
	if d.r.Header.Get("If-None-Match") == tag {
		d.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	_, _ = d.w.Write(durableArray(p)) // the reader has gone
	return nil
}

// durableArray is the records of a page as a JSON array.
func durableArray(p eventlog.Page) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for n, i := range p.Items {
		if n > 0 {
			b.WriteByte(',')
		}
		raw, err := plainJSON(wireEvent(i))
		if err != nil {
			continue // what the log renders is JSON
		}
		b.Write(raw)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// await waits until something follows the page, or ctx ends.
func (d *durableRead) await(ctx context.Context, p eventlog.Page) error {
	for item, err := range d.Log.Tail(ctx, d.execution, eventlog.From{Cursor: p.Next.String()}) {
		if err != nil {
			return err
		}
		if item.Event != "" {
			return nil
		}
	}
	return nil
}

func (d *durableRead) longPoll() error {
	ctx, cancel := context.WithTimeoutCause(d.r.Context(), durableWait, errDurableOver)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	stopped := d.cancelOnStop(ctx, stop)
	defer func() { stop(nil); <-stopped }()
	for {
		p, err := d.page()
		if err != nil {
			return err
		}
		if len(p.Items) > 0 {
			return d.answer(p)
		}
		closed, err := d.closed(p)
		if err != nil {
			return err
		}
		if closed || d.await(ctx, p) != nil {
			if _, err := d.describe(p); err != nil {
				return err
			}
			d.w.Header().Del("Content-Type")
			d.w.WriteHeader(http.StatusNoContent)
			return nil
		}
	}
}

var errDurableOver = errors.New("the time for this request is over")

// durableControl follows each batch of an event stream.
type durableControl struct {
	NextOffset string `json:"streamNextOffset"`
	Cursor     string `json:"streamCursor,omitempty"`
	UpToDate   bool   `json:"upToDate,omitempty"`
	Closed     bool   `json:"streamClosed,omitempty"`
}

func (d *durableRead) events() error {
	ctx, cancel := context.WithTimeoutCause(d.r.Context(), durableLive, errDurableOver)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	stopped := d.cancelOnStop(ctx, stop)
	defer func() { stop(nil); <-stopped }()
	out := &eventWriter{w: d.w, c: http.NewResponseController(d.w), timeout: d.WriteTimeout}
	out.begin()
	for first := true; ; first = false {
		over, err := d.batch(out, first)
		if err != nil {
			panic(http.ErrAbortHandler) // the reader goes on from its last offset
		}
		if over {
			return nil
		}
		if err := d.await(ctx, eventlog.Page{Next: d.at()}); err != nil {
			return nil // it is time to come again
		}
	}
}

// at is the position as a cursor.
func (d *durableRead) at() perdure.Cursor {
	head, err := d.Engine.Read().LogHead(d.r.Context(), d.execution)
	if err != nil {
		return perdure.Cursor{Pos: d.pos}
	}
	return perdure.Cursor{Epoch: d.Log.Cursor(head).Epoch, Pos: d.pos}
}

// batch writes what there is, each page with where it leads; it tells whether
// the stream is over.
func (d *durableRead) batch(out *eventWriter, first bool) (over bool, err error) {
	for {
		p, err := d.page()
		if err != nil {
			return false, err
		}
		closed, err := d.closed(p)
		if err != nil {
			return false, err
		}
		control := durableControl{NextOffset: durableOffset(p.Next.Pos), Cursor: d.cursor(), UpToDate: p.UpToDate, Closed: closed}
		if closed {
			control.Cursor = ""
		}
		raw, err := json.Marshal(control)
		if err != nil {
			return false, err
		}
		if len(p.Items) > 0 {
			fmt.Fprintf(&out.buf, "event: data\ndata: %s\n\n", durableArray(p))
		}
		if len(p.Items) > 0 || first || closed {
			fmt.Fprintf(&out.buf, "event: control\ndata: %s\n\n", raw)
		}
		d.pos, first = p.Next.Pos, false
		if err := out.flush(); err != nil {
			return false, err
		}
		if closed || p.UpToDate {
			return closed, nil
		}
	}
}
