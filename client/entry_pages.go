package client

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// entryPages reads all entries of an execution, page by page. While the caller uses one page, the
// server already prepares the next one.
type entryPages struct {
	c    *Client
	path []string
	all  bool
	// next is the cursor of the page that was requested in advance; "" if there is none. The page
	// arrives in the channel `coming`.
	next   string
	coming chan entryPage
	size   int // size of the previous page in bytes
}

// entryPage is the response with one page, before it is decoded.
type entryPage struct {
	raw []byte
	err error
}

func (c *Client) entryPages(ctx context.Context, id uuid.UUID, all bool) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		p := &entryPages{c: c, path: []string{executions, id.String(), "entries"}, all: all, coming: make(chan entryPage, 1)}
		defer p.drop()
		defer cancel()
		for n, cursor := 0, ""; ; n++ {
			page, err := p.page(ctx, cursor, n > 0)
			if err != nil {
				yield(perdure.Entry{}, err)
				return
			}
			for i := range page.Items {
				if !yield(page.Items[i], nil) {
					return
				}
			}
			if page.NextCursor == nil || *page.NextCursor == "" {
				return
			}
			cursor = *page.NextCursor
		}
	}
}

// page returns the page at a cursor. With `ahead`, it requests the next page before it decodes this
// one. `ahead` is false for the first page, because a program that stops early usually needs only
// the first page.
func (p *entryPages) page(ctx context.Context, cursor string, ahead bool) (page Page[perdure.Entry], err error) {
	got := p.take(ctx, cursor)
	if got.err != nil {
		return page, got.err
	}
	p.size = len(got.raw)
	if next := nextCursor(got.raw); ahead && next != "" {
		p.next = next
		go func() { p.coming <- p.ask(ctx, next) }()
	}
	if err := json.Unmarshal(got.raw, &page); err != nil {
		return page, brokenOff(ctx, err)
	}
	return page, nil
}

// take returns the page at a cursor. If this page was requested in advance, take waits for it.
func (p *entryPages) take(ctx context.Context, cursor string) entryPage {
	if p.next == "" {
		return p.ask(ctx, cursor)
	}
	p.next = "" // the page requested in advance is always the one at cursor
	return <-p.coming
}

// drop waits for a page that was requested in advance, and discards it.
func (p *entryPages) drop() {
	if p.next != "" {
		<-p.coming
	}
}

func (p *entryPages) ask(ctx context.Context, cursor string) entryPage {
	q := PageOptions{Limit: 1000, Cursor: cursor}.query() // if entries are large, a page has fewer
	if p.all {
		q.Set("all", "true")
	}
	raw, err := p.c.bytes(ctx, q, p.size, p.path...)
	return entryPage{raw, err}
}

// bytes returns the body of a response. `about` is the expected length of the body in bytes; a good
// estimate saves copies.
func (c *Client) bytes(ctx context.Context, query url.Values, about int, path ...string) ([]byte, error) {
	resp, err := c.unhurried(ctx, request{method: http.MethodGet, path: path, query: query})
	if err != nil {
		return nil, err
	}
	defer drain(resp.Body)
	raw := bytes.NewBuffer(make([]byte, 0, about+about/8+bytes.MinRead))
	if _, err := raw.ReadFrom(resp.Body); err != nil {
		return nil, brokenOff(ctx, err)
	}
	return raw.Bytes(), nil
}

// nextCursor finds the member nextCursor of a page without decoding the page. It returns "" unless
// nextCursor is the last member, where servers of this version write it.
func nextCursor(page []byte) string {
	const member = `"nextCursor":"`
	at := bytes.LastIndex(page, []byte(member))
	if at < 0 {
		return ""
	}
	cursor, end, _ := bytes.Cut(page[at+len(member):], []byte(`"`))
	if string(bytes.TrimSpace(end)) != "}" || bytes.ContainsRune(cursor, '\\') {
		return ""
	}
	return string(cursor)
}
