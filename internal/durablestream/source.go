package durablestream

import (
	"bytes"
	"context"

	"github.com/perdure/perdure/internal/store"
)

// Source is a stream as the protocol reads it. A position counts up from 0, the
// beginning; what it counts is the source's own.
type Source interface {
	// ContentType is that of what Page gives.
	ContentType() string
	// Tag names the content: two sources of one tag have the same content
	// wherever they have the same positions, and the same marks, if any.
	Tag() string
	// Offset writes a position, and Parse reads one.
	Offset(at int64) string
	Parse(offset string) (int64, error)
	// Check returns the check of a page that ends at the position; 0 for none.
	Check(ctx context.Context, at int64) (uint64, error)
	// End returns the position after all content, in an empty page.
	End(ctx context.Context) (Page, error)
	// Page returns some of what follows the position: nothing only if there is
	// nothing.
	Page(ctx context.Context, at int64) (Page, error)
	// Await returns when there is something after the position, or the stream is
	// closed there. Until then it calls idle about once a second, whose error it
	// returns; so it does the cause of the context's end.
	Await(ctx context.Context, at int64, idle func() error) error
}

// Page is a part of a stream.
type Page struct {
	// Content is what an answer's body is: of JSON an array of messages.
	Content []byte
	Empty   bool
	Next    int64 // the position after it
	// Mark tells it from what was, or will be, at the same positions of the same
	// content; "" where nothing ever changes there.
	Mark string
	// Check, if it is not 0, is carried by Stream-Cursor, which live readers give
	// back: another one tells that their offset is of another content.
	Check uint64
	// UpToDate says that there was nothing after it, and Closed that there never
	// will be.
	UpToDate, Closed bool
}

// pageBytes is about how much one answer has.
const pageBytes = 1 << 20

// general is a general stream as it was when the request came.
type general struct {
	*Streams
	stream *store.Stream
}

func (g *general) ContentType() string { return g.stream.ContentType }

func (g *general) Tag() string { return mark(g.store.Epoch(), g.stream) }

func (g *general) Offset(at int64) string { return g.offset(g.stream, at) }

func (g *general) Parse(offset string) (int64, error) { return g.parseOffset(g.stream, offset) }

// Check implements [Source]. Offsets of general streams name what they are of.
func (g *general) Check(context.Context, int64) (uint64, error) { return 0, nil }

func (g *general) End(ctx context.Context) (Page, error) {
	_, now, err := g.store.StreamContent(ctx, g.stream.ID, 0, 0)
	if err != nil {
		return Page{}, err
	}
	return g.page(nil, now.Tail, now), nil
}

func (g *general) Page(ctx context.Context, at int64) (Page, error) {
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
			return Page{}, BadOffset() // inside of what came as one
		}
		rows[i] = p.Content[at-p.At:]
	}
	return g.page(rows, at+length(rows), now), nil
}

func (g *general) page(rows [][]byte, next int64, now *store.Stream) Page {
	p := Page{Empty: len(rows) == 0, Next: next, UpToDate: next == now.Tail, Closed: now.Closed && next == now.Tail}
	if isJSON(now.ContentType) {
		p.Content = array(rows)
	} else {
		p.Content = bytes.Join(rows, nil)
	}
	return p
}

func (g *general) Await(ctx context.Context, at int64, idle func() error) error {
	return g.await(ctx, g.stream.ID, at, idle)
}
