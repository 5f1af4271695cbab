package work

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// ready takes the place of a [store.PickKind] in those rows of dueBy that describe delayed pending
// work.
const ready = -1

// dueBy selects, for each [store.PickKind], the earliest time at which something is due. It reads
// indexes only. Delayed executions and tasks count only if they become ready after ?1.
var dueBy = statement.Read(dueUnion)

var dueUnion = strings.Join([]string{
	first(ready, "min(at) FROM (SELECT min(not_before) AS at FROM agent_execution WHERE status = 'PENDING' AND not_before > ready_at AND not_before > ?1"+
		" UNION ALL SELECT min(not_before) FROM task_execution WHERE status = 'PENDING' AND not_before > created_at AND not_before > ?1) AS put_off"),
	first(store.PickTimers, "min(due_at) FROM agent_timer"),
	first(store.PickCancelOverdue, "min(cancel_by) FROM agent_execution WHERE status = 'CANCELLING'"),
	first(store.PickTaskDeadlines, "min(deadline_at) FROM task_execution WHERE status IN ('PENDING', 'RUNNING') AND deadline_at IS NOT NULL"),
	first(store.PickAttempts, "min(attempt_due) FROM task_execution WHERE status = 'RUNNING' AND attempt_due IS NOT NULL"),
	first(store.PickQuestions, "min(expires_at) FROM question WHERE status = 'open' AND expires_at IS NOT NULL"),
	first(store.PickLooseBlobs, "min(created_at) + "+strconv.FormatInt(store.LooseBlobAge.Milliseconds(), 10)+" FROM blob WHERE owned = 0"),
}, " UNION ALL ")

func first(kind store.PickKind, moment string) string {
	return "SELECT " + strconv.Itoa(int(kind)) + ", " + moment
}

// dueByLease returns dueBy with the times at which leases of executions (PickExpiredAgents) and of
// tasks (PickExpiredTasks) expire.
func dueByLease(w *statement.Dialect) *statement.Statement {
	return statement.NewRead(dueUnion + " UNION ALL " + first(store.PickExpiredAgents, w.FirstLease) + " UNION ALL " + first(store.PickExpiredTasks, w.FirstTaskLease))
}

// Due implements [store.Reader].
func (r *Work) Due(ctx context.Context, q store.DueQuery) (store.Due, error) {
	due := store.Due{At: map[store.PickKind]perdure.Time{}}
	query := dueBy
	if q.Leases {
		query = dueByLease(r.Dialect)
	}
	err := r.Read(ctx, func(v statement.View) error {
		return v.Each(query, []any{column.Millis(q.Since)}, func(row func(...any) error) error {
			var (
				kind int64
				at   *int64
			)
			switch err := row(&kind, &at); {
			case err != nil || at == nil:
				return err
			case kind == ready:
				due.Ready = perdure.AtMilli(*at)
			default:
				due.At[store.PickKind(kind)] = perdure.AtMilli(*at)
			}
			return nil
		})
	})
	return due, err
}

// Moved implements [store.Reader].
func (r *Work) Moved(ctx context.Context, org string, all []store.Standing) (moved []uuid.UUID, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	args, err := r.Dialect.Standings(all)
	if err != nil {
		return nil, err
	}
	return r.IDs(ctx, r.Dialect.Moved, append([]any{org}, args...)...)
}
