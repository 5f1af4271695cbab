package audit

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// auditStep is the number of executions whose ids one read collects.
const auditStep = 500

var executionsByAge = statement.Read("SELECT x.number, x.id FROM agent_execution x WHERE x.number > ? AND " + load.Hidden + " ORDER BY x.number LIMIT ?")

// Audit checks that no row refers to a missing row, that the content of streams has no gaps, and
// that the times of deliveries fit their status. Then it yields the id of every execution of every
// org, oldest first.
func (r *Auditor) Audit(ctx context.Context) iter.Seq2[uuid.UUID, error] {
	return func(yield func(uuid.UUID, error) bool) {
		for _, check := range []func(statement.View) error{r.references, denseStreams, soundDeliveries} {
			if err := r.Read(ctx, check); err != nil {
				yield(uuid.Nil, err)
				return
			}
		}
		for after := int64(0); ; {
			var ids []uuid.UUID
			err := r.Read(ctx, func(v statement.View) error {
				return v.Each(executionsByAge, []any{after, auditStep},
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

func (r *Auditor) references(v statement.View) error {
	if r.Dialect.Audit == nil {
		return nil
	}
	return r.Dialect.Audit(v.Context, v.Conn)
}

// looseStreams selects the path of each stream with a gap, and the position of the gap. A gap is a
// row that does not follow its predecessor, or a tail that differs from the end of the last row.
// Deleted streams are left out, because their rows may be partly deleted.
var looseStreams = statement.Alone("SELECT s.path, c.upto FROM durable_stream s JOIN (SELECT stream_id, upto, length(content) AS held," +
	" coalesce(lag(upto) OVER (PARTITION BY stream_id ORDER BY upto), 0) AS begins FROM durable_stream_chunk) c ON c.stream_id = s.id" +
	" WHERE s.deleted = 0 AND (c.held = 0 OR c.upto != c.begins + c.held)" +
	" UNION ALL SELECT s.path, s.tail FROM durable_stream s WHERE s.deleted = 0" +
	" AND s.tail != coalesce((SELECT max(upto) FROM durable_stream_chunk WHERE stream_id = s.id), 0)")

// denseStreams returns an error if a stream has a gap.
func denseStreams(v statement.View) error {
	return v.Each(looseStreams, nil, func(row func(...any) error) error {
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

var closedBlocks = statement.Read("SELECT b.task_id, b.attempt, b.block, b.seq, b.reason, b.length, b.sha256, coalesce(length(b.content), 0), b.content_blob IS NOT NULL," +
	" b.cuts, b.nonces, b.entry IS NOT NULL, e.id, b.path FROM log_block b LEFT JOIN agent_entry e ON e.number = b.entry AND e.number > 0 AND e.agent_execution_id = b.agent_execution_id" +
	" WHERE b.agent_execution_id = ? AND b.open = 0 AND b.event = 0 AND b.seq > 0")

// AuditBlocks returns where the contents of the closed blocks of an execution are stored.
func (r *Auditor) AuditBlocks(ctx context.Context, execution uuid.UUID) ([]store.BlockRest, error) {
	var all []store.BlockRest
	err := r.Read(ctx, func(v statement.View) error {
		return v.Each(closedBlocks, []any{execution[:]}, func(row func(...any) error) error {
			var (
				b            store.BlockRest
				cuts, nonces []byte
				named        bool
			)
			err := row(&b.Key.TaskID, &b.Key.Attempt, &b.Key.Block, &b.Seq, column.TextInto(&b.Reason), &b.Length, column.HashInto(&b.SHA256), &b.Held,
				column.FlagInto(&b.Blob), &cuts, &nonces, column.FlagInto(&named), column.OptIDInto(&b.Entry), column.TextInto(&b.Path))
			if err == nil && named && b.Entry == nil {
				err = contents.ErrNamed
			}
			if err != nil {
				return err
			}
			pieces, err := log.ReadCuts(cuts, nonces, 0, math.MaxInt64)
			if err == nil && len(nonces) > 0 && len(nonces) != 4*len(pieces) {
				err = log.ErrCuts
			}
			for _, c := range pieces {
				b.Cut += c.Length
			}
			all = append(all, b)
			return err
		})
	})
	return all, err
}

var namedResults = statement.Read("SELECT t.id, coalesce(t.result_of, b.content_of), coalesce(length(t.result), 0) + (SELECT coalesce(sum(length(c.content)), 0) FROM blob_chunk c" +
	" WHERE c.agent_execution_id = t.agent_execution_id AND c.id = t.result_blob) FROM task_execution t" +
	" LEFT JOIN blob b ON b.agent_execution_id = t.agent_execution_id AND b.id = t.result_blob" +
	" WHERE t.agent_execution_id = ? AND (t.result_of IS NOT NULL OR b.content_of IS NOT NULL)")

var entryByNumber = statement.Read("SELECT id FROM agent_entry WHERE number = ? AND number > 0 AND agent_execution_id = ?")

// AuditResults returns where the results of an execution's tasks are stored. It includes only the
// results that refer to an entry.
func (r *Auditor) AuditResults(ctx context.Context, execution uuid.UUID) ([]store.ResultRest, error) {
	var all []store.ResultRest
	err := r.Read(ctx, func(v statement.View) error {
		var names []contents.Named
		err := v.Each(namedResults, []any{execution[:]}, func(row func(...any) error) error {
			var (
				rest store.ResultRest
				raw  []byte
			)
			if err := row(&rest.Task, &raw, &rest.Held); err != nil {
				return err
			}
			n, err := contents.ParseNamed(raw)
			rest.Held += int64(len(n.Before) + len(n.After))
			all, names = append(all, rest), append(names, n)
			return err
		})
		for i := range names {
			if err != nil {
				break
			}
			var found bool
			found, err = v.One(entryByNumber, []any{names[i].Entry, execution[:]}, &all[i].Entry)
			if err == nil && !found {
				err = contents.ErrNamed
			}
		}
		return err
	})
	return all, err
}
