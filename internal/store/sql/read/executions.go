package read

import (
	"cmp"
	"context"
	"math"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/listing"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Executions implements [store.Reader].
func (r *Reader) Executions(ctx context.Context, org string, f store.ExecutionFilter) (store.Page[*perdure.Execution], error) {
	var page store.Page[*perdure.Execution]
	before, err := base.ParseListCursor(f.Cursor, math.MaxInt64)
	if err != nil {
		return page, err
	}
	limit := base.PageLimit(f.Limit)
	l := listing.New(r.Dialect, org, f, r.listRows())
	l.Plain = r.WithoutTexts
	found, next, err := r.search(ctx, l, before, limit+1)
	if err != nil {
		return page, err
	}
	if len(found) > limit {
		found, next = found[:limit], found[limit-1].Number
	}
	for _, x := range found {
		page.Items = append(page.Items, x.Row)
	}
	if next > 0 {
		page.Next = base.ListCursor(next)
	}
	return page, nil
}

func (r *Reader) listRows() int { return cmp.Or(r.ListRows, store.ListRows) }

// search finds at most `want` executions with numbers less than `before`. It examines at most
// l.Rows candidates. The result `next` is the number of the last examined candidate, or 0 if no
// candidates are left.
func (r *Reader) search(ctx context.Context, l *listing.Query, before int64, want int) (found []listing.ListedExecution, next int64, err error) {
	s := &listing.Search{Query: l, Want: want, Before: before, Step: want, Left: l.Rows}
	for len(s.Found) < want && s.Left > 0 {
		ended := false
		err := r.Read(ctx, func(v statement.View) (err error) {
			ended, err = s.Examine(v)
			return err
		})
		if err != nil || ended {
			return s.Found, 0, err
		}
	}
	return s.Found, s.Before, nil
}
