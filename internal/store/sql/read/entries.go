package read

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var entriesAfter = statement.Read("SELECT e.number, " + load.EntryColumns + " FROM agent_entry e WHERE e.agent_execution_id = ? AND e.number > ? AND e.number > 0 ORDER BY e.number LIMIT ?")

// Entry implements [store.Reader].
func (r *Reader) Entry(ctx context.Context, execution, id uuid.UUID) (*perdure.Entry, error) {
	e, err := r.one(ctx, execution, id, false)
	if err != nil {
		return nil, err
	}
	return &e, nil
}

func noEntry(execution, id uuid.UUID) error {
	return perdure.Errorf(perdure.NotFound, "there is no entry %s in execution %s", id, execution)
}

// AllEntries implements [store.Reader].
func (r *Reader) AllEntries(ctx context.Context, execution uuid.UUID, cursor string, limit int) (store.Page[perdure.Entry], error) {
	return list(ctx, r, cursor, limit, 0, func(v statement.View, after int64, limit int, add func(number int64, e perdure.Entry) bool) error {
		return v.Each(entriesAfter, []any{execution[:], after, limit}, func(row func(...any) error) error {
			var (
				e      perdure.Entry
				number int64
			)
			err := row(load.EntryScan([]any{&number}, &e)...)
			if err == nil && !add(number, e) {
				err = statement.ErrStop
			}
			return err
		})
	}, func(v statement.View, e *perdure.Entry) (int, error) {
		err := r.fillEntry(v, execution, e)
		return store.Weight(e.Content, e.Blob), err
	})
}

// fillEntry loads the content of an entry's blob, of which only the id is known.
func (r *Reader) fillEntry(v statement.View, execution uuid.UUID, e *perdure.Entry) (err error) {
	if e.Blob == nil {
		return nil
	}
	if err = load.CompleteRef(v, execution, e.Blob); err != nil {
		return err
	}
	return r.joinEntry(v, execution, e)
}

// list reads a page: at most limit rows by number after the cursor. fill completes each item and
// returns its size. The page ends when it holds store.PageBytes, but always holds the first item,
// however large.
func list[T any](ctx context.Context, r *Reader, cursor string, limit int, start int64,
	rows func(v statement.View, after int64, limit int, add func(number int64, item T) bool) error,
	fill func(v statement.View, item *T) (int, error),
) (store.Page[T], error) {
	var page store.Page[T]
	after, err := parseListCursor(cursor, start)
	if err != nil {
		return page, err
	}
	limit = pageLimit(limit)
	err = r.read(ctx, func(v statement.View) error {
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
			page.Next = listCursor(numbers[keep-1])
		}
		page.Items = page.Items[:keep:keep]
		return nil
	})
	return page, err
}
