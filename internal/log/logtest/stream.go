package logtest

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
)

// stream is a client of an event stream that resumes with the header Last-Event-ID. Its content is
// the list of the received events.
type stream struct {
	API
	path string
	show func([]Event) string
}

// Show implements Projection.
func (s stream) Show(given []Event) string {
	if s.show != nil {
		return s.show(given)
	}
	return lines(given)
}

// Read implements Projection.
func (s stream) Read(ctx context.Context, held []Event) iter.Seq2[Event, error] {
	header := http.Header{}
	if len(held) > 0 {
		header.Set("Last-Event-ID", held[len(held)-1].ID)
	}
	return s.from(ctx, s.path, header, held)
}

// errNoEnd reports a stream that ended without an error, but also without the event "end".
var errNoEnd = faultf("the stream ended cleanly, and without end")

// from yields the events of a stream. It checks that the event "end" comes exactly once, and last.
// The status 204 means that the log has ended and the client has all of it.
func (s stream) from(ctx context.Context, path string, header http.Header, held []Event) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		res, err := s.get(ctx, s.API.path(path), header, http.StatusOK, http.StatusNoContent)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer res.Body.Close() //nolint:errcheck // the unread part of the body is not needed
		if res.StatusCode == http.StatusNoContent {
			if n := len(held); n == 0 || held[n-1].Name != "end" {
				yield(Event{ID: header.Get("Last-Event-ID"), Name: "end", Data: "{}"}, nil)
			}
			return
		}
		ended := false
		for e, err := range messages(res.Body) {
			switch {
			case err == nil && ended:
				err = faultf("after end came %s", e)
			case err == nil && e.Name == "reset":
				err = faultf("the stream was reset: %s", e.Data)
			}
			ended = e.Name == "end"
			if !yield(e, err) || err != nil {
				return
			}
		}
		if !ended {
			yield(Event{}, errNoEnd)
		}
	}
}

// lines returns the events as text, without pings. Of a superseded block, lines returns only the
// first chunk, without its text, because a later reader receives no more of the block.
func lines(given []Event) string {
	gone := superseded(given)
	var b strings.Builder
	for _, e := range given {
		if e.Name == "ping" {
			continue
		}
		if p := pieceOf(e); p.isChunk() && slices.Contains(gone, p.Seq) {
			if p.Offset > 0 {
				continue
			}
			e.Data = p.emptied(e.Data)
		}
		b.WriteString(e.String() + "\n")
	}
	return b.String()
}

// seqStream is a client of an event stream that resumes with the parameter after_seq. It stores
// events and blocks. If it receives a snapshot of a block, it replaces the stored block.
type seqStream struct{ stream }

// Show implements Projection.
func (s seqStream) Show(given []Event) string { return clientCopyOf(given).String() }

// Read implements Projection.
func (s seqStream) Read(ctx context.Context, held []Event) iter.Seq2[Event, error] {
	if len(held) == 0 {
		return s.from(ctx, s.path, nil, nil)
	}
	return s.from(ctx, with(s.path, "after_seq="+number(clientCopyOf(held).newest)), nil, held)
}

// with adds a query parameter to a path.
func with(path, query string) string {
	if strings.Contains(path, "?") {
		return path + "&" + query
	}
	return path + "?" + query
}
