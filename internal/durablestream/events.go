package durablestream

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// control is the data of a control event. In an event stream, a control event follows each batch
// of content.
type control struct {
	Next     string `json:"streamNextOffset"`
	Cursor   string `json:"streamCursor,omitempty"`
	UpToDate bool   `json:"upToDate,omitempty"`
	Closed   bool   `json:"streamClosed,omitempty"`
}

// events sends the stream's content as server-sent events, for about a minute. On an error it
// resets the connection, and the reader reconnects with the last offset that it received.
func (d *readRequest) events() error {
	first, err := d.Page(d.r.Context(), d.at)
	if err != nil {
		return err // an error response is still possible
	}
	d.begin()
	ctx, cancel := context.WithTimeoutCause(d.live, liveTime, errOver)
	defer cancel()
	for page, begun := first, false; ; begun = true {
		seen := page.Next
		if err := d.batch(d.whole(page), !begun); err != nil {
			panic(http.ErrAbortHandler)
		}
		if page.Closed {
			return nil
		}
		if page.UpToDate {
			if err := d.Await(ctx, seen, d.Alive); ctx.Err() != nil {
				return d.over()
			} else if err != nil {
				panic(http.ErrAbortHandler)
			}
		}
		if page, err = d.Page(ctx, d.at); ctx.Err() != nil {
			return d.over()
		} else if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// over ends an event stream after liveTime, so that the reader reconnects. If the reader may no
// longer read the stream, over resets the connection.
func (d *readRequest) over() error {
	if d.Alive() != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (d *readRequest) begin() {
	h := d.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-store")
	h.Set("X-Accel-Buffering", "no")
	if !isText(d.ContentType()) {
		h.Set(headerEncoding, "base64")
	}
	d.w.WriteHeader(http.StatusOK)
}

// whole removes an incomplete UTF-8 character from the end of a text page (the part of the stream
// that one read returned), because an event contains only whole characters. The removed bytes are
// sent with the rest of the character, or when the stream is closed.
func (d *readRequest) whole(p Page) Page {
	if p.Closed || !isText(d.ContentType()) || isJSON(d.ContentType()) {
		return p
	}
	if n := unfinished(p.Content); n > 0 {
		p.Content = p.Content[:len(p.Content)-n]
		p.Next -= int64(n)
		p.Empty, p.UpToDate = len(p.Content) == 0, false
	}
	return p
}

// batch writes a page (the part of the stream that one read returned) and the page's control event.
// It advances the reader's position to the end of the page. For an empty page it writes only a
// control event, and only if the page is the first or the last of the event stream.
func (d *readRequest) batch(p Page, first bool) error {
	d.at = p.Next
	if p.Empty && !first && !p.Closed {
		return nil
	}
	c := control{Next: d.Offset(p.Next), UpToDate: p.UpToDate, Closed: p.Closed}
	if !p.Closed {
		c.Cursor = d.cursor(p.Check)
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if !p.Empty {
		event(&out, "data", d.lines(p.Content))
	}
	event(&out, "control", string(raw))
	if err := d.write(out.Bytes()); err != nil {
		return err
	}
	return http.NewResponseController(d.w).Flush()
}

// lines encodes content as the data of an event: as base64 if it is not text, otherwise with LF
// line ends.
func (d *readRequest) lines(content []byte) string {
	if !isText(d.ContentType()) {
		return base64.StdEncoding.EncodeToString(content)
	}
	return lineEnds.Replace(string(content))
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// event appends a server-sent event with the name and the lines of data to out. Clients of
// server-sent events strip one space after the colon, so a line that begins with a space gets a
// second space. Other lines get no space, because clients of the Durable Streams protocol do not
// strip one.
func event(out *bytes.Buffer, name, lines string) {
	out.WriteString("event: " + name + "\n")
	for line := range strings.SplitSeq(lines, "\n") {
		out.WriteString("data:")
		if strings.HasPrefix(line, " ") {
			out.WriteByte(' ')
		}
		out.WriteString(line + "\n")
	}
	out.WriteByte('\n')
}
