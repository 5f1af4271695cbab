package durablestream

import (
	"bytes"
	"context"

	"github.com/perdure/perdure/internal/store"
)

// Source is a stream that this package serves to readers. A position is a number that increases
// from 0, the start of the stream. Each source defines the unit of its positions.
type Source interface {
	// ContentType returns the content type of the responses that contain the stream's pages.
	ContentType() string
	// Tag identifies the content for caches. Two sources with the same tag have the same content
	// wherever their positions and marks are equal.
	Tag() string
	// Offset formats a position as the offset that clients see. Parse is its inverse.
	Offset(at int64) string
	Parse(offset string) (int64, error)
	// Check returns the value of Page.Check for a page that ends at the position.
	Check(ctx context.Context, at int64) (uint64, error)
	// End returns an empty page that lies at the end of the stream.
	End(ctx context.Context) (Page, error)
	// Page returns a page that begins at the position. The page is empty only if there is no content
	// after the position.
	Page(ctx context.Context, at int64) (Page, error)
	// Await waits until the stream has content after the position, or is closed there. While Await
	// waits, it calls the function `idle` about once a second. Await returns early with an error of
	// `idle`, or with the cause of the context's end.
	Await(ctx context.Context, at int64, idle func() error) error
}

// Page is the part of a stream that one read returns.
type Page struct {
	// Content is the body of a response. For a stream of JSON it is an array of messages.
	Content []byte
	Empty   bool
	Next    int64 // the position at the end of Content
	// Mark distinguishes this page from other content at the same positions, before or after a
	// change of the stream. Mark is "" if the content of the stream never changes.
	Mark string
	// Check, if not 0, becomes part of the header Stream-Cursor, which live readers send back. A
	// reader that sends a different check has an offset of content that the stream no longer has.
	Check uint64
	// UpToDate reports that the stream had no content after the page when the page was read.
	// Closed reports that no content can ever follow.
	UpToDate, Closed bool
}

// pageBytes is the approximate size of the content of one response.
const pageBytes = 1 << 20

// generalStream is a stream that clients write (not the log of an execution), as it was at the
// start of the request.
type generalStream struct {
	*Streams
	stream *store.Stream
}

func (g *generalStream) ContentType() string { return g.stream.ContentType }

func (g *generalStream) Tag() string { return mark(g.store.Epoch(), g.stream) }

func (g *generalStream) Offset(at int64) string { return g.offset(g.stream, at) }

func (g *generalStream) Parse(offset string) (int64, error) { return g.parseOffset(g.stream, offset) }

// Check implements [Source]. It returns 0, because an offset of a general stream itself identifies
// the stream's content.
func (g *generalStream) Check(context.Context, int64) (uint64, error) { return 0, nil }

func (g *generalStream) End(ctx context.Context) (Page, error) {
	_, now, err := g.store.StreamContent(ctx, g.stream.ID, 0, 0)
	if err != nil {
		return Page{}, err
	}
	return g.page(nil, now.Tail, now), nil
}

func (g *generalStream) Page(ctx context.Context, at int64) (Page, error) {
	pieces, now, err := g.store.StreamContent(ctx, g.stream.ID, at, pageBytes)
	if err != nil {
		return Page{}, err
	}
	rows := make([][]byte, len(pieces))
	for i, p := range pieces {
		rows[i] = p.Content
		if p.At >= at {
			continue
		}
		if isJSON(now.ContentType) {
			return Page{}, BadOffset() // the offset is not at the start of a row
		}
		rows[i] = p.Content[at-p.At:]
	}
	return g.page(rows, at+length(rows), now), nil
}

func (g *generalStream) page(rows [][]byte, next int64, now *store.Stream) Page {
	p := Page{Empty: len(rows) == 0, Next: next, UpToDate: next == now.Tail, Closed: now.Closed && next == now.Tail}
	if isJSON(now.ContentType) {
		p.Content = array(rows)
	} else {
		p.Content = bytes.Join(rows, nil)
	}
	return p
}

func (g *generalStream) Await(ctx context.Context, at int64, idle func() error) error {
	return g.await(ctx, g.stream.ID, at, idle)
}
