package relational

import (
	"context"
	"fmt"
	"iter"

	"github.com/google/uuid"
)

// auditStep is how many ids one read of an audit collects.
const auditStep = 500

// Audit checks that no row refers to one that is gone and that the content of
// streams is dense, then gives the id of every execution of every org, oldest
// first.
func (r *Reader) Audit(ctx context.Context) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		for _, check := range []func(view) error{r.references, denseStreams} {
			if err := r.read(ctx, check); err != nil {
				yield(uuid.Nil, err)
				return
			}
		}
		for after := int64(0); ; {
			var ids []uuid.UUID
			err := r.read(ctx, func(v view) error {
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

func (r *Reader) references(v view) error {
	if r.Words.Audit == nil {
		return nil
	}
	return r.Words.Audit(v.ctx, v.Conn)
}

// looseStreams finds streams, and the place, where a row does not follow the one
// before, or the tail not the last one. What is being deleted may have lost rows.
const looseStreams = "SELECT s.path, c.upto FROM durable_stream s JOIN (SELECT stream_id, upto, length(content) AS held," +
	" coalesce(lag(upto) OVER (PARTITION BY stream_id ORDER BY upto), 0) AS begins FROM durable_stream_chunk) c ON c.stream_id = s.id" +
	" WHERE s.deleted = 0 AND (c.held = 0 OR c.upto != c.begins + c.held)" +
	" UNION ALL SELECT s.path, s.tail FROM durable_stream s WHERE s.deleted = 0" +
	" AND s.tail != coalesce((SELECT max(upto) FROM durable_stream_chunk WHERE stream_id = s.id), 0)"

// denseStreams checks that every stream has all of its content.
func denseStreams(v view) error {
	return v.each(looseStreams, nil, func(row func(...any) error) error {
		var (
			path string
			at   int64
		)
		if err := row(&path, &at); err != nil {
			return err
		}
		return fmt.Errorf("the stream %s has a hole before %d", path, at)
	})
}
