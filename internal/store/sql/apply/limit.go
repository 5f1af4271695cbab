package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/pick"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	waitingOfKey = statement.Read("SELECT EXISTS (SELECT 1 FROM task_execution INDEXED BY idx_task_execution_key" +
		" WHERE org_id = ?1 AND concurrency_key = ?2 AND status = 'PENDING' AND status IN ('PENDING', 'RUNNING') AND not_before <= ?3)")
	waitingOnQueue = statement.Read("SELECT EXISTS (SELECT 1 FROM task_execution INDEXED BY idx_task_execution_dispatch" +
		" WHERE org_id = ?1 AND queue = ?2 AND status = 'PENDING' AND blocked = 0 AND not_before <= ?3)")
	clearBlocked = statement.Update("task_execution", statement.Terms{}.Fixed("blocked", "= 0"), statement.Columns("agent_execution_id, id").Fixed("blocked", "= 1"))
	// unblock clears the mark "blocked" of waiting tasks with the concurrency key ?2: the first ?4
	// of them whose limit is higher than ?3, the number of running tasks with that key.
	unblock = statement.Alone("UPDATE task_execution SET blocked = 0 WHERE (agent_execution_id, id) IN (SELECT agent_execution_id, id FROM task_execution INDEXED BY idx_task_execution_blocked" +
		" WHERE org_id = ?1 AND concurrency_key = ?2 AND status = 'PENDING' AND blocked = 1 AND concurrency_limit > ?3" +
		" ORDER BY priority, created_at LIMIT ?4)")
	highestLimit = statement.Read("SELECT coalesce(max(concurrency_limit), 0) FROM task_execution INDEXED BY idx_task_execution_blocked" +
		" WHERE org_id = ?1 AND concurrency_key = ?2 AND status = 'PENDING' AND blocked = 1")
)

// loadLoads returns the load of each name, which is a concurrency key or a queue. The query
// `running` counts the running tasks with that key or on that queue; `waiting` reports whether
// there is a pending task with that key or on that queue whose delay is over.
func loadLoads(v statement.View, org string, names []string, running, waiting *statement.Statement, now perdure.Time) (map[string]store.Load, error) {
	loads := map[string]store.Load{}
	for _, name := range names {
		if _, seen := loads[name]; seen {
			continue
		}
		var l store.Load
		if _, err := v.One(running, []any{org, name}, &l.Running); err != nil {
			return nil, err
		}
		if _, err := v.One(waiting, []any{org, name, column.Millis(now)}, column.FlagInto(&l.Waiting)); err != nil {
			return nil, err
		}
		loads[name] = l
	}
	return loads, nil
}

// makeRoom unblocks waiting tasks of a concurrency key, if a change of a task has made room for
// them.
func makeRoom(v statement.View, before, after *perdure.Task) error {
	if !leavesRoom(before, after) {
		return nil
	}
	if after.Status.Terminal() { // the ended task may be requested again with the same task key
		if err := v.Write(clearBlocked, before.ExecutionID[:], before.ID[:]); err != nil {
			return err
		}
	}
	org, key := before.Org, before.Options.ConcurrencyKey
	if err := v.Hold(load.HeldKey(org, key)); err != nil {
		return err
	}
	var running, highest int
	if _, err := v.One(load.RunningOfKey, []any{org, key}, &running); err != nil {
		return err
	}
	if _, err := v.One(highestLimit, []any{org, key}, &highest); err != nil || highest <= running {
		return err
	}
	return v.Write(unblock, org, key, running, highest-running)
}

func leavesRoom(before, after *perdure.Task) bool {
	return before != nil && before.Options.ConcurrencyKey != "" && !before.Status.Terminal() &&
		before.Status != after.Status && after.Status != perdure.TaskRunning
}

// pickNeeds returns n with the additional data that a command needs to claim the candidate.
func pickNeeds(p *store.Pick, one pick.Candidate, n store.Needs) store.Needs {
	if p.Kind == store.PickAgents && p.Worker != uuid.Nil {
		n.Worker = &p.Worker
	}
	n.DueQuestions = n.DueQuestions || p.Kind == store.PickQuestions
	if p.Kind == store.PickTasks {
		if one.Key != "" {
			n.ConcurrencyKeys = append(n.ConcurrencyKeys[:len(n.ConcurrencyKeys):len(n.ConcurrencyKeys)], one.Key)
		}
		if _, limited := p.QueueLimits[one.Queue]; limited {
			n.Queues = append(n.Queues[:len(n.Queues):len(n.Queues)], one.Queue)
		}
	}
	return n
}
