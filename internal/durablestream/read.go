package durablestream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

const (
	// pollWait is how long a long poll waits for content. liveTime is how long an event stream stays
	// open; then the client reconnects.
	pollWait = 20 * time.Second
	liveTime = time.Minute
	// pieceBytes is the number of bytes of a response that a reader must receive within the write
	// timeout.
	pieceBytes = 64 << 10
)

// These are the headers of the Durable Streams protocol.
const (
	headerNext     = "Stream-Next-Offset"
	headerClosed   = "Stream-Closed"
	headerUpToDate = "Stream-Up-To-Date"
	headerCursor   = "Stream-Cursor"
	headerWriter   = "Stream-Seq"
	headerProducer = "Producer-Id"
	headerEpoch    = "Producer-Epoch"
	headerSeq      = "Producer-Seq"
	headerExpected = "Producer-Expected-Seq"
	headerReceived = "Producer-Received-Seq"
	headerEncoding = "Stream-Sse-Data-Encoding"
)

// Reading configures how a read request is served.
type Reading struct {
	// Alive is called about once a second while a reader waits, and when waiting ends without new
	// content. An error from Alive ends the request.
	Alive func() error
	// WriteTimeout is the time in which the reader must receive each 64 KiB of a response
	// (pieceBytes). Otherwise the server resets the reader's connection.
	WriteTimeout time.Duration
}

// readRequest is one GET or HEAD request for a stream.
type readRequest struct {
	Reading
	Source
	live context.Context // its end ends only the waiting; the end of the request's own context ends everything
	w    http.ResponseWriter
	r    *http.Request
	at   int64
	// now is set if the reader wants only content that is written after its request.
	now bool
}

// Serve serves a GET or HEAD request of the source. If Serve returns an error, the caller sends the
// response: the error is a [*Refusal], or has a code. The context `live` is derived from the
// request's context, and may end earlier. When `live` ends, Serve stops waiting for content.
func Serve(live context.Context, w http.ResponseWriter, r *http.Request, s Source, c Reading) error {
	d := &readRequest{Reading: c, Source: s, live: live, w: w, r: r}
	protect(w)
	if r.Method == http.MethodHead {
		return d.head()
	}
	if err := d.parse(); err != nil {
		return err
	}
	switch live := r.URL.Query().Get("live"); live {
	case "":
		return d.catchUp()
	case "long-poll":
		return d.longPoll()
	case "sse":
		return d.events()
	default:
		return perdure.FieldErrorf("live", "%q is not one of long-poll, sse", live)
	}
}

// protect sets headers that keep a browser from running the stream's content as a page of this
// server's origin. Clients wrote that content, and the visitor may be logged in at this origin.
func protect(w http.ResponseWriter) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// parse parses the requested offset into the reader's position. The offset "-1", or none, is the
// start of the stream; "now" is its end.
func (d *readRequest) parse() (err error) {
	q := d.r.URL.Query()
	offset := q.Get("offset")
	switch {
	case len(q["offset"]) > 1 || q.Has("offset") && offset == "":
		return perdure.FieldErrorf("offset", "must be given once, and not empty")
	case q.Get("live") != "" && offset == "":
		return perdure.FieldErrorf("offset", "is needed with live; -1 is the beginning")
	case offset == "" || offset == "-1":
		return nil
	case offset == "now":
		end, err := d.End(d.r.Context())
		d.now, d.at = true, end.Next
		return err
	}
	if d.at, err = d.Parse(offset); err != nil {
		return err
	}
	return d.sameContent(q.Get("cursor"))
}

// describe sets the response headers for a page of the stream's content, such as the offset after
// the page.
func (d *readRequest) describe(p Page) {
	h := d.w.Header()
	h.Set("Content-Type", d.ContentType())
	h.Set("Cache-Control", "private, no-cache")
	h.Set(headerNext, d.Offset(p.Next))
	h.Set(headerCursor, d.cursor(p.Check))
	if p.UpToDate {
		h.Set(headerUpToDate, "true")
	}
	if p.Closed {
		h.Set(headerClosed, "true")
	}
}

func (d *readRequest) head() error {
	end, err := d.End(d.r.Context())
	if err != nil {
		return err
	}
	d.describe(end)
	d.w.Header().Set("Cache-Control", "no-store")
	d.w.WriteHeader(http.StatusOK)
	return nil
}

func (d *readRequest) catchUp() error {
	if d.now {
		end, err := d.End(d.r.Context())
		if err != nil {
			return err
		}
		d.describe(end)
		d.w.Header().Set("Cache-Control", "no-store")
		_ = d.write(end.Content) // fails only if the reader has disconnected
		return nil
	}
	p, err := d.Page(d.r.Context(), d.at)
	if err != nil {
		return err
	}
	d.answer(p)
	return nil
}

// answer responds with a page of the stream's content, or with 304 if the reader already has the
// page.
func (d *readRequest) answer(p Page) {
	d.describe(p)
	tag := fmt.Sprintf("%s:%d:%d", d.Tag(), d.at, p.Next)
	if p.Mark != "" {
		tag += ":" + p.Mark
	}
	if p.Closed {
		tag += ":c"
	}
	tag = strconv.Quote(tag)
	d.w.Header().Set("ETag", tag)
	if holds(d.r.Header.Values("If-None-Match"), tag) {
		d.w.WriteHeader(http.StatusNotModified)
		return
	}
	_ = d.write(p.Content) // fails only if the reader has disconnected
}

// holds reports whether the header If-None-Match contains the tag. The parameter `lists` contains
// the header's values, each of which is a list of entity tags.
func holds(lists []string, tag string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			if strings.TrimPrefix(strings.TrimSpace(one), "W/") == tag {
				return true
			}
		}
	}
	return false
}

// write writes a response body or a part of it. It returns an error if the reader has disconnected,
// or does not receive pieceBytes within the write timeout. After an error, the connection is
// unusable.
func (d *readRequest) write(body []byte) error {
	c := http.NewResponseController(d.w)
	for len(body) > 0 {
		// SetWriteDeadline fails if the connection supports no deadlines. The next part of the body
		// is then written without a deadline.
		_ = c.SetWriteDeadline(time.Now().Add(d.WriteTimeout))
		n, err := d.w.Write(body[:min(len(body), pieceBytes)])
		if err != nil {
			return err
		}
		body = body[n:]
	}
	return nil
}

var errOver = errors.New("the time for this request is over")

func (d *readRequest) longPoll() error {
	ctx, cancel := context.WithTimeoutCause(d.live, pollWait, errOver)
	defer cancel()
	for {
		p, err := d.Page(d.r.Context(), d.at)
		if err != nil {
			return err
		}
		if !p.Empty {
			d.answer(p)
			return nil
		}
		if !p.Closed {
			if err = d.Await(ctx, p.Next, d.Alive); err == nil {
				continue
			}
			if ctx.Err() == nil {
				return err
			}
			if err := d.Alive(); err != nil {
				return err
			}
		}
		d.describe(p)
		d.w.Header().Del("Content-Type")
		d.w.Header().Set("Cache-Control", "no-store")
		d.w.WriteHeader(http.StatusNoContent)
		return nil
	}
}
