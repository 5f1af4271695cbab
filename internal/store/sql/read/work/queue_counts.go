package work

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Each of these queries counts by its own index, which contains no ended executions or tasks. A
// pending execution or task is ready unless it is delayed beyond the current time ?1.
const (
	readyCounts  = "queue, count(*), count(CASE WHEN not_before <= ?1 THEN 1 END), min(CASE WHEN not_before <= ?1 THEN "
	sinceReady   = "CASE WHEN not_before > ready_at THEN not_before ELSE ready_at END END)"
	sinceCreated = "CASE WHEN not_before > created_at THEN not_before ELSE created_at END END)"
)

var (
	censusAgents  = statement.Read("SELECT " + readyCounts + sinceReady + " FROM agent_execution INDEXED BY idx_agent_execution_dispatch WHERE status = 'PENDING' AND crashes < 6 GROUP BY queue")
	censusAlone   = statement.Read("SELECT " + readyCounts + sinceReady + " FROM agent_execution INDEXED BY idx_agent_execution_alone WHERE status = 'PENDING' AND crashes >= 6 GROUP BY queue")
	censusTasks   = statement.Read("SELECT " + readyCounts + sinceCreated + " FROM task_execution INDEXED BY idx_task_execution_dispatch WHERE status = 'PENDING' AND blocked = 0 GROUP BY queue")
	censusBlocked = statement.Read("SELECT " + readyCounts + sinceCreated + " FROM task_execution INDEXED BY idx_task_execution_blocked WHERE status = 'PENDING' AND blocked = 1 GROUP BY queue")
	censusHeld    = statement.Alone("SELECT status, count(*) FROM agent_execution INDEXED BY idx_agent_execution_held WHERE status IN ('RUNNING', 'CANCELLING') GROUP BY status")
	censusWaiting = statement.Alone("SELECT wait_reason, count(*) FROM agent_execution INDEXED BY idx_agent_execution_waiting WHERE status = 'WAITING' GROUP BY wait_reason")

	censusDeliveries = statement.Alone("SELECT count(*) FROM delivery INDEXED BY idx_delivery_due WHERE status = 'pending'")
)

// Census implements [store.Counter].
func (r *Work) Census(ctx context.Context) (store.Census, error) {
	c := store.Census{At: r.Now(), Held: map[perdure.Status]int{}, Waiting: map[string]int{}}
	err := r.Read(ctx, func(v statement.View) (err error) {
		queues := queues{v: v, now: column.Millis(c.At), found: map[queueName]*store.QueueCensus{}}
		for _, one := range []struct {
			query *statement.Statement
			tasks bool
		}{{censusAgents, false}, {censusAlone, false}, {censusTasks, true}, {censusBlocked, true}} {
			if err := queues.count(one.query, one.tasks); err != nil {
				return err
			}
		}
		for _, name := range queues.order {
			c.Queues = append(c.Queues, *queues.found[name])
		}
		if err := countBy(v, censusHeld, c.Held); err != nil {
			return err
		}
		if err := countBy(v, censusWaiting, c.Waiting); err != nil {
			return err
		}
		if _, err := v.One(censusDeliveries, nil, &c.Deliveries); err != nil {
			return err
		}
		c.Bytes, err = v.Dialect.Size(v.Context, v.Conn)
		return err
	})
	return c, err
}

type queueName struct {
	name  string
	tasks bool
}

// queues counts the pending work of each queue. Each count is the sum over several indexes.
type queues struct {
	v     statement.View
	now   int64
	found map[queueName]*store.QueueCensus
	order []queueName
}

func (q *queues) count(query *statement.Statement, tasks bool) error {
	return q.v.Each(query, []any{q.now}, func(row func(...any) error) error {
		name := queueName{tasks: tasks}
		var pending, ready int
		var since *int64
		if err := row(&name.name, &pending, &ready, &since); err != nil {
			return err
		}
		c := q.found[name]
		if c == nil {
			c = &store.QueueCensus{Queue: name.name, Tasks: tasks}
			q.found[name] = c
			q.order = append(q.order, name)
		}
		c.Pending, c.Ready = c.Pending+pending, c.Ready+ready
		if since == nil {
			return nil
		}
		if at := perdure.AtMilli(*since); c.Since.IsZero() || at.Before(c.Since.Time) {
			c.Since = at
		}
		return nil
	})
}

func countBy[K ~string](v statement.View, query *statement.Statement, into map[K]int) error {
	return v.Each(query, nil, func(row func(...any) error) error {
		var key string
		var n int
		if err := row(&key, &n); err != nil {
			return err
		}
		into[K(key)] = n
		return nil
	})
}
