package logtest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"

	"github.com/perdure/perdure"
)

// record is a log record in the JSON form that pages, WebSockets and durable streams share.
type record struct {
	Cursor string          `json:"cursor"`
	Event  string          `json:"event"`
	Data   json.RawMessage `json:"data"`
}

func (r record) wire() Event { return Event{ID: r.Cursor, Name: r.Event, Data: string(r.Data)} }

// give passes the records to `yield` as events. The result `more` is false if `yield` has returned
// false. The result `over` is true if the log has ended.
func give(records []record, yield func(Event, error) bool) (more, over bool) {
	for _, r := range records {
		if !yield(r.wire(), nil) {
			return false, false
		}
		over = over || ends(r.Event)
	}
	return true, over
}

// isOver reports whether the client has already received the end of the log.
func isOver(held []Event) bool {
	for i := len(held) - 1; i >= 0; i-- {
		if held[i].Name == "end" || ends(held[i].Name) {
			return true
		}
	}
	return false
}

func lastID(held []Event) string {
	if len(held) == 0 {
		return ""
	}
	return held[len(held)-1].ID
}

// eventPages reads a log in pages with GET /events. It continues from the cursor of the last item.
type eventPages struct {
	API
	limit int
}

// Show implements Projection.
func (p eventPages) Show(given []Event) string { return lines(given) }

// Read implements Projection.
func (p eventPages) Read(ctx context.Context, held []Event) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		cursor, over := lastID(held), isOver(held)
		for {
			var page struct {
				Items      []record
				NextCursor string
				UpToDate   bool
				Reset      json.RawMessage
			}
			_, err := p.getJSON(ctx, p.path(fmt.Sprintf("/events?limit=%d&after=%s", p.limit, cursor)), &page)
			switch {
			case err == nil && page.Reset != nil:
				err = faultf("the page was reset: %s", page.Reset)
			case err == nil && len(page.Items) > p.limit:
				err = faultf("%d items, asked for %d", len(page.Items), p.limit)
			case err == nil && over && (len(page.Items) > 0 || !page.UpToDate):
				err = faultf("a page after the end of the log")
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			more, ended := give(page.Items, yield)
			over = over || ended
			if !more || over && page.UpToDate {
				return
			}
			if cursor = page.NextCursor; page.UpToDate {
				if err := p.await(ctx, cursor); err != nil {
					yield(Event{}, err)
					return
				}
			}
		}
	}
}

// durableStream reads a log as a durable stream. The field `live` is the value of the URL parameter
// "live": "", "long-poll" or "sse".
type durableStream struct {
	API
	live string
}

// Show implements Projection.
func (d durableStream) Show(given []Event) string { return lines(given) }

// batch is the content that a durable stream sends in one response or between two control events.
type batch struct {
	records          []record
	next             string
	upToDate, closed bool
}

// Read implements Projection. It derives the offset of the durable stream from the cursor of the
// last record.
func (d durableStream) Read(ctx context.Context, held []Event) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		offset, err := offsetOf(lastID(held))
		for {
			var wanted, closed bool
			if err == nil {
				for b, failed := range d.batches(ctx, offset) {
					if err = failed; err != nil {
						break
					}
					if wanted, _ = give(b.records, yield); !wanted {
						return
					}
					offset, closed = b.next, b.closed
				}
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if closed {
				return
			}
		}
	}
}

// offsetOf converts a cursor to the offset of a durable stream.
func offsetOf(cursor string) (string, error) {
	if cursor == "" {
		return "-1", nil
	}
	c, err := perdure.ParseCursor(cursor)
	return fmt.Sprintf("%020d", c.Pos), err
}

// batches yields the batches of one response.
func (d durableStream) batches(ctx context.Context, offset string) iter.Seq2[batch, error] {
	path := "/v1/stream/executions/" + d.Execution.String() + "?offset=" + offset
	if d.live == "sse" {
		return d.events(ctx, path+"&live=sse")
	}
	return func(yield func(batch, error) bool) {
		b, err := d.ask(ctx, path)
		if err == nil && b.upToDate && !b.closed && len(b.records) == 0 {
			b, err = d.ask(ctx, path+"&live=long-poll")
		}
		yield(b, err)
	}
}

// ask requests the content after the offset in the path. If the path or the field `live` demands a
// long poll, the server waits for new content.
func (d durableStream) ask(ctx context.Context, path string) (batch, error) {
	if d.live == "long-poll" && !strings.Contains(path, "live=") {
		path += "&live=long-poll"
	}
	res, err := d.get(ctx, path, nil, http.StatusOK, http.StatusNoContent)
	if err != nil {
		return batch{}, err
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end
	b := batch{
		next:     res.Header.Get("Stream-Next-Offset"),
		upToDate: res.Header.Get("Stream-Up-To-Date") == "true", closed: res.Header.Get("Stream-Closed") == "true",
	}
	if res.StatusCode == http.StatusNoContent {
		return b, nil
	}
	return b, json.NewDecoder(res.Body).Decode(&b.records)
}

// events yields the batches of an event stream. After the records of each batch, a control event
// contains the next offset. The server closes the stream from time to time.
func (d durableStream) events(ctx context.Context, path string) iter.Seq2[batch, error] {
	return func(yield func(batch, error) bool) {
		res, err := d.get(ctx, path, nil, http.StatusOK)
		if err != nil {
			yield(batch{}, err)
			return
		}
		defer res.Body.Close() //nolint:errcheck // the unread part of the body is not needed
		var b batch
		for e, err := range messages(res.Body) {
			switch {
			case err != nil:
			case e.Name == "data":
				err = json.Unmarshal([]byte(e.Data), &b.records)
			case e.Name == "control":
				var c struct {
					StreamNextOffset       string
					UpToDate, StreamClosed bool
				}
				err = json.Unmarshal([]byte(e.Data), &c)
				b.next, b.upToDate, b.closed = c.StreamNextOffset, c.UpToDate, c.StreamClosed
				if err == nil && !yield(b, nil) {
					return
				}
				b = batch{}
			}
			if err != nil {
				yield(batch{}, err)
				return
			}
		}
	}
}
