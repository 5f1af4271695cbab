package relational

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Limits are enforced by counting what runs, in the one transaction that writes. A pick selects
// pending work for a worker. If it finds a pending task whose concurrency key has reached its
// limit, it marks the task as blocked, and later picks skip that task. A change that frees places
// of the key unblocks as many tasks as there are free places.

var (
	runningOfKey = read("SELECT count(*) FROM task_execution INDEXED BY idx_task_execution_key" +
		" WHERE org_id = ?1 AND concurrency_key = ?2 AND status = 'RUNNING' AND status IN ('PENDING', 'RUNNING')")
	waitingOfKey = read("SELECT EXISTS (SELECT 1 FROM task_execution INDEXED BY idx_task_execution_key" +
		" WHERE org_id = ?1 AND concurrency_key = ?2 AND status = 'PENDING' AND status IN ('PENDING', 'RUNNING') AND not_before <= ?3)")
	runningOnQueue = read("SELECT count(*) FROM task_execution INDEXED BY idx_task_execution_held WHERE org_id = ?1 AND queue = ?2 AND status = 'RUNNING'")
	waitingOnQueue = read("SELECT EXISTS (SELECT 1 FROM task_execution INDEXED BY idx_task_execution_dispatch" +
		" WHERE org_id = ?1 AND queue = ?2 AND status = 'PENDING' AND blocked = 0 AND not_before <= ?3)")

	blockTask    = update("task_execution", Terms{}.fixed("blocked", "= 1"), columns("agent_execution_id, id"))
	clearBlocked = update("task_execution", Terms{}.fixed("blocked", "= 0"), columns("agent_execution_id, id").fixed("blocked", "= 1"))
	// unblock clears the marks of the first tasks that have room, but at least one: the task that
	// has freed the place may have been chosen instead of another one.
	unblock = alone("UPDATE task_execution SET blocked = 0 WHERE (agent_execution_id, id) IN (SELECT agent_execution_id, id FROM task_execution INDEXED BY idx_task_execution_blocked" +
		" WHERE org_id = ?1 AND concurrency_key = ?2 AND status = 'PENDING' AND blocked = 1 AND concurrency_limit > ?3" +
		" ORDER BY priority, created_at LIMIT ?4)")
	highestLimit = read("SELECT coalesce(max(concurrency_limit), 0) FROM task_execution INDEXED BY idx_task_execution_blocked" +
		" WHERE org_id = ?1 AND concurrency_key = ?2 AND status = 'PENDING' AND blocked = 1")

	holds = read("SELECT EXISTS (SELECT 1 FROM agent_execution INDEXED BY idx_agent_execution_held WHERE worker_id = ?1 AND status IN ('RUNNING', 'CANCELLING'))," +
		" EXISTS (SELECT 1 FROM agent_execution INDEXED BY idx_agent_execution_held_alone" +
		" WHERE worker_id = ?1 AND status IN ('RUNNING', 'CANCELLING') AND crashes >= 6)")
)

func loadHolding(v view, worker uuid.UUID) (h store.Holding, err error) {
	_, err = v.one(holds, []any{worker[:]}, flagInto(&h.Executions), flagInto(&h.Alone))
	return h, err
}

// loadLoads returns the load of each name: the result of the query running, the number of running
// tasks, and of the query waiting, whether a task waits.
func loadLoads(v view, org string, names []string, running, waiting *Statement, now perdure.Time) (map[string]store.Load, error) {
	loads := map[string]store.Load{}
	for _, name := range names {
		if _, seen := loads[name]; seen {
			continue
		}
		var l store.Load
		if _, err := v.one(running, []any{org, name}, &l.Running); err != nil {
			return nil, err
		}
		if _, err := v.one(waiting, []any{org, name, millis(now)}, flagInto(&l.Waiting)); err != nil {
			return nil, err
		}
		loads[name] = l
	}
	return loads, nil
}

// makeRoom unblocks tasks of a concurrency key when a task of that key no longer runs or waits.
func makeRoom(v view, before, after *perdure.Task) error {
	if !leavesRoom(before, after) {
		return nil
	}
	if after.Status.Terminal() { // the ended task may be requested again under its key
		if err := v.write(clearBlocked, before.ExecutionID[:], before.ID[:]); err != nil {
			return err
		}
	}
	org, key := before.Org, before.Options.ConcurrencyKey
	if err := v.hold(heldKey(org, key)); err != nil {
		return err
	}
	var running, highest int
	if _, err := v.one(runningOfKey, []any{org, key}, &running); err != nil {
		return err
	}
	if _, err := v.one(highestLimit, []any{org, key}, &highest); err != nil || highest <= running {
		return err
	}
	return v.write(unblock, org, key, running, highest-running)
}

func leavesRoom(before, after *perdure.Task) bool {
	return before != nil && before.Options.ConcurrencyKey != "" && !before.Status.Terminal() &&
		before.Status != after.Status && after.Status != perdure.TaskRunning
}

// pickNeeds adds the needs of claiming a candidate.
func pickNeeds(p *store.Pick, one candidate, n store.Needs) store.Needs {
	if p.Kind == store.PickAgents && p.Worker != uuid.Nil {
		n.Worker = &p.Worker
	}
	if p.Kind == store.PickTasks {
		if one.key != "" {
			n.ConcurrencyKeys = append(n.ConcurrencyKeys[:len(n.ConcurrencyKeys):len(n.ConcurrencyKeys)], one.key)
		}
		if _, limited := p.QueueLimits[one.queue]; limited {
			n.Queues = append(n.Queues[:len(n.Queues):len(n.Queues)], one.queue)
		}
	}
	return n
}
