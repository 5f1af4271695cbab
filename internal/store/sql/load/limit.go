package load

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	// RunningOfKey counts the running tasks of a concurrency key.
	RunningOfKey = statement.Read("SELECT count(*) FROM task_execution INDEXED BY idx_task_execution_key" +
		" WHERE org_id = ?1 AND concurrency_key = ?2 AND status = 'RUNNING' AND status IN ('PENDING', 'RUNNING')")
	// RunningOnQueue counts the running tasks of a queue.
	RunningOnQueue = statement.Read("SELECT count(*) FROM task_execution INDEXED BY idx_task_execution_held WHERE org_id = ?1 AND queue = ?2 AND status = 'RUNNING'")

	holds = statement.Read("SELECT EXISTS (SELECT 1 FROM agent_execution INDEXED BY idx_agent_execution_held WHERE worker_id = ?1 AND status IN ('RUNNING', 'CANCELLING'))," +
		" EXISTS (SELECT 1 FROM agent_execution INDEXED BY idx_agent_execution_held_alone" +
		" WHERE worker_id = ?1 AND status IN ('RUNNING', 'CANCELLING') AND crashes >= 6)")
)

// Holding returns whether a worker has claimed executions, and whether it has claimed one that must
// run alone on its worker.
func Holding(v statement.View, worker uuid.UUID) (h store.Holding, err error) {
	_, err = v.One(holds, []any{worker[:]}, column.FlagInto(&h.Executions), column.FlagInto(&h.Alone))
	return h, err
}

// HeldWorker returns the lock name for the claims of a worker.
func HeldWorker(id uuid.UUID) string { return "worker " + id.String() }

// HeldKey returns the lock name for the tasks with a concurrency key.
func HeldKey(org, key string) string { return "key " + org + "\x00" + key }

// HeldQueue returns the lock name for the tasks on a queue.
func HeldQueue(org, queue string) string { return "queue " + org + "\x00" + queue }
