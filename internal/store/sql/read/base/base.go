// Package base runs the reads of a store, and divides lists into pages.
package base

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const (
	defaultLimit = 50
	maxLimit     = 1000
)

// Source is a database from which readers read.
type Source struct {
	// Tx calls `read` in a transaction whose statements all see the database as it was at one
	// moment.
	Tx      func(ctx context.Context, read func(c statement.Conn) error) error
	Clock   func() time.Time
	Dialect *statement.Dialect
	// ListRows is the maximum number of executions that are examined for one page of a list;
	// default [store.ListRows].
	ListRows int
	// WithoutTexts turns the text index off.
	WithoutTexts bool
}

// Read calls its parameter in a transaction of its own.
func (s *Source) Read(ctx context.Context, read func(v statement.View) error) error {
	return s.Tx(ctx, func(c statement.Conn) error { return read(statement.View{Conn: c, Context: ctx, Dialect: s.Dialect}) })
}

// Now implements [store.Store]. It returns the store's time.
func (s *Source) Now() perdure.Time { return perdure.At(s.Clock()) }

// Get calls `read` in a transaction of its own, and returns the result of `read`.
func Get[T any](ctx context.Context, s *Source, read func(v statement.View) (T, error)) (value T, err error) {
	err = s.Read(ctx, func(v statement.View) (err error) {
		value, err = read(v)
		return err
	})
	return value, err
}

// Find returns one row, like Get. If `read` returns nil, Find returns an error with the code
// not_found and the given message.
func Find[T any](ctx context.Context, s *Source, read func(v statement.View) (*T, error), format string, args ...any) (*T, error) {
	found, err := Get(ctx, s, read)
	if err == nil && found == nil {
		err = perdure.Errorf(perdure.NotFound, format, args...)
	}
	return found, err
}

// List reads a page: at most `limit` rows whose numbers follow the cursor. The function `fill`
// completes an item and returns its size. The page ends before the sum of these sizes exceeds
// store.PageBytes, but it always contains the first item.
func List[T any](ctx context.Context, s *Source, cursor string, limit int, start int64,
	rows func(v statement.View, after int64, limit int, add func(number int64, item T) bool) error,
	fill func(v statement.View, item *T) (int, error),
) (store.Page[T], error) {
	var page store.Page[T]
	after, err := ParseListCursor(cursor, start)
	if err != nil {
		return page, err
	}
	limit = PageLimit(limit)
	err = s.Read(ctx, func(v statement.View) error {
		var numbers []int64
		err := rows(v, after, limit+1, func(number int64, item T) bool {
			numbers, page.Items = append(numbers, number), append(page.Items, item)
			return len(page.Items) <= limit
		})
		if err != nil {
			return err
		}
		keep, bytes := min(len(numbers), limit), 0
		for i := range keep {
			n, err := fill(v, &page.Items[i])
			if err != nil {
				return err
			}
			if bytes += n; bytes > store.PageBytes && i > 0 {
				keep = i
				break
			}
		}
		if keep < len(numbers) {
			page.Next = ListCursor(numbers[keep-1])
		}
		page.Items = page.Items[:keep:keep]
		return nil
	})
	return page, err
}

// Nothing is a function `fill` for List, for items that are already complete. They count as 0
// bytes.
func Nothing[T any](statement.View, *T) (int, error) { return 0, nil }

// IDs returns the ids that a query selects.
func (s *Source) IDs(ctx context.Context, query *statement.Statement, args ...any) (all []uuid.UUID, err error) {
	err = s.Read(ctx, func(v statement.View) error {
		all = nil // the function may run again
		return v.Each(query, args, func(row func(...any) error) error {
			var id uuid.UUID
			err := row(&id)
			all = append(all, id)
			return err
		})
	})
	return all, err
}

// PageLimit returns the number of items on a page, given the limit that a caller asks for.
func PageLimit(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return min(limit, maxLimit)
}

// ListCursor returns the cursor of a list whose last page ended with the row of that number.
func ListCursor(number int64) string { return strconv.FormatInt(number, 36) }

// ParseListCursor returns the row number in a cursor. If the cursor is "", it returns `start`.
func ParseListCursor(cursor string, start int64) (int64, error) {
	if cursor == "" {
		return start, nil
	}
	number, err := strconv.ParseInt(cursor, 36, 64)
	if err != nil || number < 0 || ListCursor(number) != cursor {
		return 0, perdure.FieldErrorf("cursor", "is not a cursor of this list; leave it out to read from the start")
	}
	return number, nil
}

// NoExecution returns the not_found error for an execution.
func NoExecution(id uuid.UUID) error {
	return perdure.Errorf(perdure.NotFound, "there is no execution %s", id)
}
