package work

import (
	"context"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// prunableColumns is the beginning of a query for executions x that may be pruned. The query adds
// columns for Prunable.Since and Prunable.Count.
const prunableColumns = "SELECT x.number, x.id, x.org_id, x.kind, x.status, "

const (
	// endedOfOrg selects executions to which the org's policy applies, oldest first. ?2 is the
	// latest end of an execution whose retention period is over.
	endedOfOrg = prunableColumns + "x.completed_at, 1 FROM agent_execution x" +
		" WHERE x.org_id = ?1 AND x.completed_at IS NOT NULL AND x.completed_at <= ?2 AND (x.completed_at, x.number) > (?3, ?4) AND " + load.Hidden
	orderEnded    = " ORDER BY x.completed_at, x.number LIMIT ?5"
	notOwnPeriod  = " AND NOT EXISTS (SELECT 1 FROM agent_retention r WHERE r.agent_execution_id = x.id AND r.executions IS NOT NULL)"
	notOwnLogs    = " AND NOT EXISTS (SELECT 1 FROM agent_retention r WHERE r.agent_execution_id = x.id AND r.logs IS NOT NULL)"
	logNotPruned  = " AND x.log_pruned = 0"
	ownExecutions = prunableColumns + "x.completed_at, 1 FROM agent_retention r JOIN agent_execution x ON x.id = r.agent_execution_id" +
		" WHERE r.ended_at IS NOT NULL AND r.executions > 0 AND r.ended_at + r.executions <= ?2 AND x.org_id = ?1 AND (x.completed_at, x.number) > (?3, ?4) AND " + load.Hidden
	ownLogs = prunableColumns + "x.completed_at, 1 FROM agent_retention r JOIN agent_execution x ON x.id = r.agent_execution_id" +
		" WHERE r.ended_at IS NOT NULL AND r.logs > 0 AND r.log_pruned = 0 AND r.ended_at + r.logs <= ?2 AND x.org_id = ?1 AND (x.completed_at, x.number) > (?3, ?4) AND " + load.Hidden
)

// oldCheckpointsOfOrg selects executions with checkpoints to prune. ?2 is the current time, ?6 the
// default period.
var oldCheckpointsOfOrg = statement.Read(prunableColumns + "min(c.created_at), count(*) FROM agent_checkpoint c JOIN agent_execution x ON x.id = c.agent_execution_id" +
	" LEFT JOIN retention o ON o.org_id = x.org_id LEFT JOIN agent_retention r ON r.agent_execution_id = x.id" +
	" WHERE c.superseded = 1 AND x.org_id = ?1 AND coalesce(r.checkpoints, o.checkpoints, ?6) > 0" +
	" AND c.created_at <= ?2 - coalesce(r.checkpoints, o.checkpoints, ?6) AND x.number > ?4 AND CAST(?3 AS BIGINT) IS NOT NULL AND " + load.Hidden +
	" GROUP BY x.number, x.id, x.org_id, x.kind, x.status ORDER BY x.number LIMIT ?5")

// prunableCursor is a position in the two passes over prunable executions. The first pass applies
// the policy of the org. The second pass applies the policies that single executions have.
type prunableCursor struct {
	pass          int
	since, number int64
}

func (c prunableCursor) String() string { return fmt.Sprintf("%d-%d-%d", c.pass, c.since, c.number) }

func parsePrunable(text string) (c prunableCursor, err error) {
	if text == "" {
		return c, nil
	}
	if _, err := fmt.Sscanf(text, "%d-%d-%d", &c.pass, &c.since, &c.number); err != nil || c.String() != text {
		return c, perdure.FieldErrorf("cursor", "is not a cursor of this list; leave it out to read from the start")
	}
	return c, nil
}

// Prunable implements [store.Reader].
func (r *Work) Prunable(ctx context.Context, q store.PruneQuery) (store.Page[store.Prunable], error) {
	var page store.Page[store.Prunable]
	at, err := parsePrunable(q.Cursor)
	if err != nil {
		return page, err
	}
	limit := base.PageLimit(q.Limit)
	err = r.Read(ctx, func(v statement.View) error {
		for ; at.pass < 2; at = (prunableCursor{pass: at.pass + 1}) {
			query, args, err := prunableQuery(v, q, at, column.Millis(r.Now()), limit-len(page.Items)+1)
			if err != nil {
				return err
			}
			if query == nil {
				continue
			}
			more, err := addPrunable(v, &page, query, args, at.pass, limit)
			if err != nil || more {
				return err
			}
		}
		return nil
	})
	for i := range page.Items {
		if err == nil {
			err = r.weigh(ctx, q.Kind, &page.Items[i])
		}
	}
	return page, err
}

// addPrunable adds the rows of a query to the page. It reports whether the page is full and rows
// are left over.
func addPrunable(v statement.View, page *store.Page[store.Prunable], query *statement.Statement, args []any, pass, limit int) (bool, error) {
	last, full := prunableCursor{pass: pass}, false
	err := v.Each(query, args, func(row func(...any) error) error {
		if len(page.Items) == limit {
			full = true
			return statement.ErrStop
		}
		var p store.Prunable
		err := row(&last.number, &p.ID, &p.Org, &p.Kind, column.TextInto(&p.Status), &last.since, &p.Count)
		p.Since = column.FromMillis(last.since)
		page.Items = append(page.Items, p)
		return err
	})
	if full {
		page.Next = last.String()
	}
	return full, err
}

// prunableQuery returns the query of one pass, and the arguments of the query. It returns nil if no
// execution can be found in that pass.
func prunableQuery(v statement.View, q store.PruneQuery, at prunableCursor, now int64, limit int) (*statement.Statement, []any, error) {
	args := []any{q.Org, now, at.since, at.number, limit}
	if q.OlderThan != nil {
		if at.pass > 0 {
			return nil, nil, nil
		}
		args[1] = now - q.OlderThan.Milliseconds()
		where, more := narrowPrunable(q)
		return statement.NewRead(endedOfOrg + where + orderEnded), append(args, more...), nil
	}
	if q.Kind == store.PruneCheckpoints {
		if at.pass > 0 {
			return nil, nil, nil
		}
		return oldCheckpointsOfOrg, append(args, tenant.PeriodOf(perdure.Retention{}.Default().Checkpoints)), nil
	}
	where, more := narrowPrunable(q)
	args = append(args, more...)
	if at.pass == 1 {
		if q.Kind == store.PruneLogs {
			return statement.NewRead(ownLogs + where + orderEnded), args, nil
		}
		return statement.NewRead(ownExecutions + where + orderEnded), args, nil
	}
	policy, err := tenant.Policy(v, tenant.RetentionOfOrg, q.Org)
	if err != nil || policy == nil {
		return nil, nil, err
	}
	period, own := policy.Executions, notOwnPeriod
	if q.Kind == store.PruneLogs {
		period, own = policy.Logs, logNotPruned+notOwnLogs
	}
	if period == nil || *period == perdure.Forever {
		return nil, nil, nil
	}
	args[1] = now - tenant.PeriodOf(period).(int64)
	return statement.NewRead(endedOfOrg + own + where + orderEnded), args, nil
}

// narrowPrunable returns the conditions that the filter in q adds to a query, and the arguments of
// the conditions, numbered from ?6 on.
func narrowPrunable(q store.PruneQuery) (where string, args []any) {
	mark := func(value any) string {
		args = append(args, value)
		return fmt.Sprintf("?%d", 5+len(args))
	}
	if len(q.Status) > 0 {
		var marks []string
		for _, status := range q.Status {
			marks = append(marks, mark(string(status)))
		}
		where += " AND x.status IN (" + strings.Join(marks, ", ") + ")"
	}
	if q.DefinitionID != nil {
		where += " AND x.agent_definition_id = " + mark(q.DefinitionID[:])
	}
	return where, args
}

// The following statements compute Prunable.Bytes: the size, in bytes, of the contents that pruning
// deletes. Other columns are not counted.
const (
	weighedLog = "SELECT (SELECT coalesce(sum(coalesce(octet_length(fields), length(fields_of), 0)), 0) FROM log_record WHERE agent_execution_id = ?1)" +
		" + (SELECT coalesce(sum(coalesce(length(content), 0) + coalesce(length(cuts), 0)), 0) FROM log_block WHERE agent_execution_id = ?1)" +
		" + (SELECT coalesce(sum(length(content)), 0) FROM log_chunk WHERE agent_execution_id = ?1)"
)

var (
	weighLog       = statement.Read(weighedLog)
	weighExecution = statement.Read(weighedLog +
		" + (SELECT coalesce(CAST(sum(CASE WHEN content_of IS NULL THEN held ELSE length(content_of) END) AS BIGINT), 0) FROM blob WHERE agent_execution_id = ?1)" +
		" + (SELECT coalesce(sum(length(content)), 0) FROM agent_entry WHERE agent_execution_id = ?1)" +
		" + (SELECT coalesce(sum(length(state)), 0) FROM agent_checkpoint WHERE agent_execution_id = ?1)" +
		" + (SELECT coalesce(sum(length(signal_value)), 0) FROM agent_signal WHERE agent_execution_id = ?1)" +
		" + (SELECT coalesce(sum(length(terms) + coalesce(length(answer), 0) + coalesce(length(details), 0)), 0) FROM question WHERE agent_execution_id = ?1)" +
		" + (SELECT coalesce(sum(coalesce(length(input), 0) + coalesce(length(result), length(result_of), 0)), 0) FROM task_execution WHERE agent_execution_id = ?1)" +
		" + (SELECT coalesce(length(input), 0) + coalesce(length(output), 0) FROM agent_execution WHERE id = ?1)")
	// weighCheckpoints adds up the sizes of the oldest checkpoints of an execution, which are pruned
	// first.
	weighCheckpoints = statement.Read("SELECT CAST(coalesce(sum(coalesce(length(state), 0) + coalesce((SELECT held FROM blob b WHERE b.agent_execution_id = ?1 AND b.id = state_blob), 0)), 0) AS BIGINT)" +
		" FROM (SELECT state, state_blob FROM agent_checkpoint WHERE agent_execution_id = ?1 AND superseded = 1 ORDER BY sequence LIMIT ?2) AS oldest")
)

// weigh computes p.Bytes, the size of the contents that pruning deletes.
func (r *Work) weigh(ctx context.Context, kind store.PruneKind, p *store.Prunable) error {
	query, args := weighExecution, []any{p.ID[:]}
	switch kind {
	case store.PruneLogs:
		query = weighLog
	case store.PruneCheckpoints:
		query, args = weighCheckpoints, append(args, p.Count)
	}
	return r.Read(ctx, func(v statement.View) error {
		var bytes *int64
		_, err := v.One(query, args, &bytes)
		if bytes != nil {
			p.Bytes = *bytes
		}
		return err
	})
}

// Unused implements [store.Reader].
func (r *Work) Unused(ctx context.Context) (pages, pageSize int64, err error) {
	if r.Dialect.Unused == nil {
		return 0, 0, nil
	}
	err = r.Read(ctx, func(v statement.View) (err error) {
		pages, pageSize, err = r.Dialect.Unused(ctx, v.Conn)
		return err
	})
	return pages, pageSize, err
}
