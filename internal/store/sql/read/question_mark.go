package read

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	openMarks   = statement.Read("SELECT id, version, status FROM question WHERE org_id = ? AND status = 'open' ORDER BY number DESC LIMIT ?")
	newestMarks = statement.Read("SELECT id, version, status FROM question WHERE org_id = ? ORDER BY number DESC LIMIT ?")
)

// QuestionMarks implements [store.QuestionReader].
func (r *Reader) QuestionMarks(ctx context.Context, org string, most int) ([]store.QuestionMark, error) {
	return base.Get(ctx, r.Source, func(v statement.View) (marks []store.QuestionMark, err error) {
		add := func(row func(...any) error) error {
			var (
				m      store.QuestionMark
				status string
			)
			err := row(&m.ID, &m.Version, &status)
			m.Open = perdure.QuestionStatus(status) == perdure.QuestionOpen
			marks = append(marks, m)
			return err
		}
		if err := v.Each(openMarks, []any{org, most}, add); err != nil {
			return nil, err
		}
		err = v.Each(newestMarks, []any{org, store.NewestMarks}, add)
		return marks, err
	})
}

// SignalKeys implements [store.QuestionReader].
func (r *Reader) SignalKeys(ctx context.Context, execution uuid.UUID) ([]uuid.UUID, error) {
	return base.Get(ctx, r.Source, func(v statement.View) (keys []uuid.UUID, err error) {
		err = v.Each(load.SignalKeys, []any{execution[:], store.AskerLimit}, func(row func(...any) error) error {
			var key *uuid.UUID
			if err := row(column.OptIDInto(&key)); err != nil {
				return err
			}
			if key == nil {
				key = &uuid.Nil
			}
			keys = append(keys, *key)
			return nil
		})
		return keys, err
	})
}
