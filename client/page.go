package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
)

// Page is part of a list. NextCursor is where the next page begins; nil at the
// end. A page of executions that is short, or empty, and has a NextCursor is not the
// end: the server examines a bounded number of executions for each.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor"`
}

// PageOptions choose a page. The zero value is the first one.
type PageOptions struct {
	// Limit is how many items at most, to 1000; 0 is the server's default, 50.
	Limit int
	// Cursor is the NextCursor of the page before.
	Cursor string
}

func (o PageOptions) query() url.Values {
	q := url.Values{}
	if o.Limit > 0 {
		q.Set("limit", strconv.Itoa(o.Limit))
	}
	if o.Cursor != "" {
		q.Set("cursor", o.Cursor)
	}
	return q
}

func page[T any](ctx context.Context, c *Client, query url.Values, path ...string) (Page[T], error) {
	p, err := get[Page[T]](ctx, c, query, path...)
	if err != nil {
		return Page[T]{}, err
	}
	return *p, nil
}

// pages returns all items, page by page.
func pages[T any](next func(PageOptions) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		o := PageOptions{Limit: 200}
		for {
			p, err := next(o)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.NextCursor == nil || *p.NextCursor == "" {
				return
			}
			o.Cursor = *p.NextCursor
		}
	}
}
