package work

import (
	"context"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// namesOf returns a query for names of queues of the org ?1, ordered by name. The query returns
// only names greater than ?2, at most ?3+1 of them. It reads one row of the index for each name.
func namesOf(table, index, condition string) *statement.Statement {
	next := func(after string) string {
		return "(SELECT x.queue FROM " + table + " x INDEXED BY " + index + " WHERE x.org_id = ?1 AND x.queue > " + after + " AND " + condition + " ORDER BY x.queue LIMIT 1)"
	}
	return statement.Alone("WITH RECURSIVE names(queue, number) AS (SELECT " + next("?2") + ", 1" +
		" UNION ALL SELECT " + next("names.queue") + ", names.number + 1 FROM names WHERE names.queue IS NOT NULL AND names.number <= ?3)" +
		" SELECT queue FROM names WHERE queue IS NOT NULL")
}

var queueNames = []*statement.Statement{
	namesOf("agent_execution", "idx_agent_execution_dispatch", "x.status = 'PENDING' AND x.crashes < 6"),
	namesOf("agent_execution", "idx_agent_execution_alone", "x.status = 'PENDING' AND x.crashes >= 6"),
	namesOf("task_execution", "idx_task_execution_dispatch", "x.status = 'PENDING' AND x.blocked = 0"),
	namesOf("task_execution", "idx_task_execution_held", "x.status = 'RUNNING'"),
}

// waitingOn returns a query that counts the pending executions or tasks of the queue ?2 of the org
// ?1 that are ready at the time ?3, up to ?4 of them. It also selects the time at which the oldest
// of these became ready.
func waitingOn(table, index, since, condition string) *statement.Statement {
	return statement.Read("SELECT count(*), min(since) FROM (SELECT CASE WHEN not_before > " + since + " THEN not_before ELSE " + since + " END AS since FROM " + table +
		" INDEXED BY " + index + " WHERE org_id = ?1 AND queue = ?2 AND " + condition + " AND not_before <= ?3 LIMIT ?4) AS found")
}

var (
	waitingAgents = waitingOn("agent_execution", "idx_agent_execution_dispatch", "ready_at", "status = 'PENDING' AND crashes < 6")
	waitingAlone  = waitingOn("agent_execution", "idx_agent_execution_alone", "ready_at", "status = 'PENDING' AND crashes >= 6")
	waitingTasks  = waitingOn("task_execution", "idx_task_execution_dispatch", "created_at", "status = 'PENDING' AND blocked = 0")
	runningTasks  = statement.Read("SELECT count(*) FROM (SELECT 1 FROM task_execution INDEXED BY idx_task_execution_held" +
		" WHERE org_id = ?1 AND queue = ?2 AND status = 'RUNNING' LIMIT ?3) AS found")
	workersSeen   = statement.Read("SELECT w.queues FROM worker w INDEXED BY idx_worker_seen WHERE w.org_id = ?1 AND w.seen_at >= ?2 ORDER BY w.seen_at DESC LIMIT ?3")
	heldOfWorkers = statement.Alone("SELECT x.queue FROM worker w CROSS JOIN agent_execution x INDEXED BY idx_agent_execution_held" +
		" WHERE w.org_id = ?1 AND w.seen_at >= ?2 AND x.worker_id = w.id AND x.status IN ('RUNNING', 'CANCELLING') AND x.org_id = ?1 LIMIT ?3")
	pausesAll   = statement.Read(load.PauseSelect + "p.queue > '' ORDER BY p.queue")
	pausesAfter = statement.Read(load.PauseSelect + "p.queue > ?2 ORDER BY p.queue LIMIT ?3")
)

// QueuePauses implements [store.Reader].
func (r *Work) QueuePauses(ctx context.Context, org string) ([]*perdure.QueuePause, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.QueuePause, error) {
		return load.PauseRows.All(v, pausesAll, org)
	})
}

// Queues implements [store.Reader].
func (r *Work) Queues(ctx context.Context, org string, since perdure.Time, after string, limit int) ([]*perdure.QueueInfo, error) {
	now := r.Now()
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.QueueInfo, error) {
		l := queueList{v: v, org: org, after: after, limit: limit, found: map[string]*perdure.QueueInfo{}}
		for _, step := range []func() error{l.pauses, l.names, func() error { return l.workers(since) }, func() error { return l.held(since) }} {
			if err := step(); err != nil {
				return nil, err
			}
		}
		all := l.page()
		return all, statement.ForEach(v, all, func(v statement.View, q *perdure.QueueInfo) error { return countQueue(v, org, q, now) })
	})
}

// queueList collects the queues of an org with names greater than `after`.
type queueList struct {
	v          statement.View
	org, after string
	limit      int
	found      map[string]*perdure.QueueInfo
}

// at returns the queue with that name, after adding it if it is new. It returns nil if the name is
// not greater than l.after.
func (l *queueList) at(name string) *perdure.QueueInfo {
	if name <= l.after {
		return nil
	}
	q := l.found[name]
	if q == nil {
		q = &perdure.QueueInfo{Name: name}
		l.found[name] = q
	}
	return q
}

// page returns the first queues by name, at most l.limit of them.
func (l *queueList) page() []*perdure.QueueInfo {
	all := make([]*perdure.QueueInfo, 0, len(l.found))
	for _, q := range l.found {
		all = append(all, q)
	}
	slices.SortFunc(all, func(a, b *perdure.QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return all[:min(len(all), l.limit)]
}

func (l *queueList) pauses() error {
	all, err := load.PauseRows.All(l.v, pausesAfter, l.org, l.after, l.limit)
	for _, p := range all {
		at := p.At
		q := l.at(p.Queue)
		q.Paused, q.PausedAt = true, &at
	}
	return err
}

func (l *queueList) names() error {
	for _, query := range queueNames {
		if err := l.eachName(query, []any{l.org, l.after, l.limit}, func(*perdure.QueueInfo) {}); err != nil {
			return err
		}
	}
	return nil
}

// eachName calls `found` for each queue whose name a query selects.
func (l *queueList) eachName(query *statement.Statement, args []any, found func(*perdure.QueueInfo)) error {
	return l.v.Each(query, args, func(row func(...any) error) error {
		var name string
		if err := row(&name); err != nil {
			return err
		}
		if q := l.at(name); q != nil {
			found(q)
		}
		return nil
	})
}

func (l *queueList) workers(since perdure.Time) error {
	return l.v.Each(workersSeen, []any{l.org, column.Millis(since), perdure.MaxListedWorkers}, func(row func(...any) error) error {
		var queues []string
		if err := row(column.JSONInto(&queues)); err != nil {
			return err
		}
		for _, name := range queues {
			if q := l.at(name); q != nil {
				q.Workers = min(q.Workers+1, perdure.MaxQueueCount)
				q.Served = true
			}
		}
		return nil
	})
}

// held counts the claimed executions of each queue. It finds them by the workers that hold the
// claims.
func (l *queueList) held(since perdure.Time) error {
	return l.eachName(heldOfWorkers, []any{l.org, column.Millis(since), store.MaxScannedHolds}, func(q *perdure.QueueInfo) {
		q.Running = min(q.Running+1, perdure.MaxQueueCount)
	})
}

// countQueue counts the waiting executions and tasks of a queue, and its running tasks.
func countQueue(v statement.View, org string, q *perdure.QueueInfo, now perdure.Time) error {
	for _, query := range []*statement.Statement{waitingAgents, waitingAlone, waitingTasks} {
		var n int
		var oldest *int64
		if _, err := v.One(query, []any{org, q.Name, column.Millis(now), perdure.MaxQueueCount}, &n, &oldest); err != nil {
			return err
		}
		q.Waiting = min(q.Waiting+n, perdure.MaxQueueCount)
		if oldest == nil {
			continue
		}
		if at := perdure.AtMilli(*oldest); q.OldestAt == nil || at.Before(q.OldestAt.Time) {
			q.OldestAt = &at
		}
	}
	running := 0
	_, err := v.One(runningTasks, []any{org, q.Name, perdure.MaxQueueCount}, &running)
	q.Running = min(q.Running+running, perdure.MaxQueueCount)
	return err
}
