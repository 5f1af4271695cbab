package read

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/read/base"
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
	return base.List(ctx, r.Source, cursor, limit, 0, func(v statement.View, after int64, limit int, add func(number int64, e perdure.Entry) bool) error {
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

// fillEntry loads an entry's content from its blob. Of e.Blob, only the id has to be set.
func (r *Reader) fillEntry(v statement.View, execution uuid.UUID, e *perdure.Entry) (err error) {
	if e.Blob == nil {
		return nil
	}
	if err = contents.CompleteRef(v, execution, e.Blob); err != nil {
		return err
	}
	return r.joinEntry(v, execution, e)
}
