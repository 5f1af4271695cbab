package durablestream

import (
	"bytes"
	"context"

	"github.com/perdure/perdure/internal/store"
)

// Source is a stream as the protocol reads it. A position is a number that increases from 0, the
// start; each source defines its unit.
type Source interface {
	// ContentType returns the content type of the pages.
	ContentType() string
	// Tag identifies the content. Two sources with the same tag have the same content wherever they
	// have the same positions and marks.
	Tag() string
	// Offset formats a position, and Parse parses it.
	Offset(at int64) string
	Parse(offset string) (int64, error)
	// Check returns the check of a page that ends at the position; 0 for none.
	Check(ctx context.Context, at int64) (uint64, error)
	// End returns an empty page at the end of the content.
	End(ctx context.Context) (Page, error)
	// Page returns some content after the position. It is empty only if there is none.
	Page(ctx context.Context, at int64) (Page, error)
	// Await returns when there is content after the position, or the stream is closed there. Until
	// then it calls idle about once a second, and returns the error of idle or the cause of the
	// context's end.
	Await(ctx context.Context, at int64, idle func() error) error
}

// Page is a part of a stream.
type Page struct {
	// Content is the body of a response; for JSON, an array of messages.
	Content []byte
	Empty   bool
	Next    int64 // the position after Content
	// Mark distinguishes the page from earlier or later content at the same positions; "" if
	// content never changes.
	Mark string
	// Check, if not 0, is part of Stream-Cursor, which live readers send back. A different check
	// means that their offset belongs to other content.
	Check uint64
	// UpToDate reports that there was nothing after the page. Closed reports that there never will
	// be.
	UpToDate, Closed bool
}

// pageBytes is the approximate size of one response.
const pageBytes = 1 << 20

// generalStream is a general stream as it was at the start of the request.
type generalStream struct {
	*Streams
	stream *store.Stream
}

func (g *generalStream) ContentType() string { return g.stream.ContentType }

func (g *generalStream) Tag() string { return mark(g.store.Epoch(), g.stream) }

func (g *generalStream) Offset(at int64) string { return g.offset(g.stream, at) }

func (g *generalStream) Parse(offset string) (int64, error) { return g.parseOffset(g.stream, offset) }

// Check implements [Source]. It returns 0, because offsets of general streams identify their
// content.
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
			return Page{}, BadOffset() // not at the start of a row
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
