package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
)

// Page is one page of a list. NextCursor is the cursor of the next page, or nil at the end of the list.
// A page of executions may be short or empty although it has a NextCursor, because the server examines
// a limited number of executions for each page.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor"`
}

// PageOptions select one page of a list. The zero value selects the first page.
type PageOptions struct {
	// Limit is the maximum number of items on the page, up to 1000; 0 means the server's default, 50.
	Limit int
	// Cursor is the NextCursor of the previous page.
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

// pages reads one page after the other with the function `next`, and returns the items of all
// pages.
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
