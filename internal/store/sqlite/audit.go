package sqlite

import (
	"context"
	"fmt"
	"iter"

	"github.com/google/uuid"
)

// auditStep is how many ids one read of an audit collects.
const auditStep = 500

// Audit checks that no row refers to one that is gone, then gives the id of
// every execution of every org, oldest first.
func (r *reader) Audit(ctx context.Context) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		if err := r.pool.read(ctx, foreignKeys); err != nil {
			yield(uuid.Nil, err)
			return
		}
		for after := int64(0); ; {
			var ids []uuid.UUID
			err := r.pool.read(ctx, func(v view) error {
				return v.each("SELECT x.number, x.id FROM agent_execution x WHERE x.number > ? AND "+hidden+" ORDER BY x.number LIMIT ?", []any{after, auditStep},
					func(row func(...any) error) error {
						var id uuid.UUID
						err := row(&after, &id)
						ids = append(ids, id)
						return err
					})
			})
			if err != nil {
				yield(uuid.Nil, err)
				return
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
			if len(ids) < auditStep {
				return
			}
		}
	}
}

// foreignKeys checks every reference in the file.
func foreignKeys(v view) error {
	return v.each("PRAGMA foreign_key_check", nil, func(row func(...any) error) error {
		var table, parent string
		var rowid, key any
		if err := row(&table, &rowid, &parent, &key); err != nil {
			return err
		}
		return fmt.Errorf("a row of %s refers to a %s that is gone", table, parent)
	})
}
