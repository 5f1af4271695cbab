package relational

import (
	"context"
	"iter"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const (
	// pathStep is how many ids of a path one read collects, pathEntries and
	// pathBytes how many entries, and about how many bytes, one read loads.
	pathStep    = 1000
	pathEntries = 32
	pathBytes   = 512 << 10
)

// pathUp walks from an entry towards the root, by primary key: at most ?3
// entries, or up to the child of ?4.
const pathUp = `WITH RECURSIVE up (id, parent_id, depth) AS (
	SELECT id, parent_id, 1 FROM agent_entry WHERE agent_execution_id = ?1 AND id = ?2
	UNION ALL
	SELECT e.id, e.parent_id, up.depth + 1 FROM up
	JOIN agent_entry e ON e.agent_execution_id = ?1 AND e.id = up.parent_id
	WHERE up.depth < ?3 AND up.parent_id IS DISTINCT FROM ?4
) SELECT id, parent_id FROM up ORDER BY depth`

// Path implements [store.Reader]. Nothing is held between two reads: entries
// never change, so the pieces fit together.
func (r *Reader) Path(ctx context.Context, execution, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq2[perdure.Entry, error] {
	return func(yield func(perdure.Entry, error) bool) {
		ids, err := r.pathIDs(ctx, execution, leaf, after, newest)
		if err != nil {
			yield(perdure.Entry{}, err)
			return
		}
		for len(ids) > 0 {
			entries, err := r.someEntries(ctx, execution, ids, lazy)
			if err != nil {
				yield(perdure.Entry{}, err)
				return
			}
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
			ids = ids[len(entries):]
		}
	}
}

// pathIDs gives the ids of a path in order.
func (r *Reader) pathIDs(ctx context.Context, execution, leaf uuid.UUID, after *uuid.UUID, newest int) ([]uuid.UUID, error) {
	if after != nil && *after == leaf {
		return nil, nil
	}
	var ids []uuid.UUID
	began := map[uuid.UUID]bool{} // where reads have begun: a damaged tree must not lead in circles
	for at := &leaf; at != nil; {
		if began[*at] {
			return nil, perdure.Errorf(perdure.Internal, "entry %s of execution %s is its own ancestor", at, execution)
		}
		began[*at] = true
		limit := pathStep
		if newest > 0 {
			limit = min(limit, newest-len(ids))
		}
		from, parent := len(ids), (*uuid.UUID)(nil)
		err := r.read(ctx, func(v view) error {
			return v.each(pathUp, []any{execution[:], at[:], limit, optID(after)}, func(row func(...any) error) error {
				var id uuid.UUID
				err := row(&id, optUUID{&parent})
				ids = append(ids, id)
				return err
			})
		})
		switch {
		case err != nil:
			return nil, err
		case len(ids) == from:
			return nil, perdure.Errorf(perdure.NotFound, "there is no entry %s in execution %s", at, execution)
		case newest > 0 && len(ids) >= newest || after != nil && parent != nil && *parent == *after:
			at = nil
		case after != nil && parent == nil:
			return nil, perdure.Errorf(perdure.NotFound, "entry %s is not on the path to %s", after, leaf)
		default:
			at = parent
		}
	}
	slices.Reverse(ids)
	return ids, nil
}

// someEntries loads the first few of the entries named: at least one.
func (r *Reader) someEntries(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, lazy bool) ([]perdure.Entry, error) {
	var entries []perdure.Entry
	err := r.read(ctx, func(v view) error {
		bytes := 0
		for _, id := range ids[:min(len(ids), pathEntries)] {
			e, err := loadEntry(v, execution, id)
			if err == nil && e == nil {
				err = noEntry(execution, id) // the execution was deleted meanwhile
			}
			if err == nil && !lazy {
				err = r.joinEntry(v, execution, e)
			}
			if err != nil {
				return err
			}
			entries = append(entries, *e)
			if bytes += len(e.Content); bytes > pathBytes {
				return nil
			}
		}
		return nil
	})
	return entries, err
}

func noEntry(execution, id uuid.UUID) error {
	return perdure.Errorf(perdure.NotFound, "there is no entry %s in execution %s", id, execution)
}

// Entry implements [store.Reader].
func (r *Reader) Entry(ctx context.Context, execution, id uuid.UUID) (*perdure.Entry, error) {
	entries, err := r.someEntries(ctx, execution, []uuid.UUID{id}, false)
	if err != nil {
		return nil, err
	}
	return &entries[0], nil
}

// AllEntries implements [store.Reader].
func (r *Reader) AllEntries(ctx context.Context, execution uuid.UUID, cursor string, limit int) (store.Page[perdure.Entry], error) {
	return list(ctx, r, cursor, limit, 0, func(v view, after int64, limit int, add func(number int64, e perdure.Entry) bool) error {
		return v.each(entriesAfter, []any{execution[:], after, limit}, func(row func(...any) error) error {
			var (
				e      perdure.Entry
				number int64
				blob   *uuid.UUID
			)
			err := row(append([]any{&number}, entryScan(&e, &blob)...)...)
			if blob != nil {
				e.Blob = &perdure.BlobRef{ID: *blob}
			}
			if err == nil && !add(number, e) {
				err = ErrStop
			}
			return err
		})
	}, func(v view, e *perdure.Entry) (int, error) {
		err := r.fillEntry(v, execution, e)
		return store.Weight(e.Content, e.Blob), err
	})
}

// fillEntry joins in a blob of which only the id is known.
func (r *Reader) fillEntry(v view, execution uuid.UUID, e *perdure.Entry) (err error) {
	if e.Blob == nil {
		return nil
	}
	if e.Blob, err = loadRef(v, execution, &e.Blob.ID); err != nil {
		return err
	}
	return r.joinEntry(v, execution, e)
}

// list reads a page: rows by number after the cursor, at most limit, each
// filled in until store.PageBytes are held; the first is there, however large.
func list[T any](ctx context.Context, r *Reader, cursor string, limit int, start int64,
	rows func(v view, after int64, limit int, add func(number int64, item T) bool) error,
	fill func(v view, item *T) (int, error),
) (store.Page[T], error) {
	var page store.Page[T]
	after, err := parseListCursor(cursor, start)
	if err != nil {
		return page, err
	}
	limit = pageLimit(limit)
	err = r.read(ctx, func(v view) error {
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
