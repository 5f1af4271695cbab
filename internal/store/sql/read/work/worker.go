package work

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	workersAfter = statement.Read("SELECT " + load.WorkerRows.List("w") + " FROM worker w WHERE w.org_id = ?1 AND w.id > ?2 AND w.seen_at >= ?3 ORDER BY w.id LIMIT ?4")
	heldOfWorker = statement.Read("SELECT id, kind, queue FROM agent_execution INDEXED BY idx_agent_execution_held" +
		" WHERE worker_id = ?1 AND status IN ('RUNNING', 'CANCELLING') AND org_id = ?2 LIMIT ?3")
	// heldTasks selects the claimed tasks of an org. There is no index by worker, because each
	// claim and each end of a task would have to update such an index.
	heldTasks = statement.Read("SELECT agent_execution_id, id, kind, queue, worker_id FROM task_execution INDEXED BY idx_task_execution_held" +
		" WHERE org_id = ?1 AND status = 'RUNNING' LIMIT ?2")
)

// Workers implements [store.Reader].
func (r *Work) Workers(ctx context.Context, org string, since perdure.Time, after uuid.UUID, limit int) ([]*perdure.WorkerInfo, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.WorkerInfo, error) {
		all, err := load.WorkerRows.All(v, workersAfter, org, after[:], column.Millis(since), limit)
		if err != nil || len(all) == 0 {
			return all, err
		}
		byID := make(map[uuid.UUID]*perdure.WorkerInfo, len(all))
		for _, w := range all {
			byID[w.ID] = w
		}
		if err := statement.ForEach(v, all, holdExecutions); err != nil {
			return nil, err
		}
		return all, holdTasks(v, org, byID)
	})
}

// holdExecutions adds to w the executions that this worker has claimed.
func holdExecutions(v statement.View, w *perdure.WorkerInfo) error {
	return v.Each(heldOfWorker, []any{w.ID[:], w.Org, perdure.MaxQueueCount}, func(row func(...any) error) error {
		var h perdure.WorkerHold
		if err := row(&h.ExecutionID, &h.Kind, &h.Queue); err != nil {
			return err
		}
		hold(w, h)
		return nil
	})
}

// holdTasks adds the claimed tasks of the org to the workers that have claimed them.
func holdTasks(v statement.View, org string, workers map[uuid.UUID]*perdure.WorkerInfo) error {
	return v.Each(heldTasks, []any{org, store.MaxScannedHolds}, func(row func(...any) error) error {
		var h perdure.WorkerHold
		var task uuid.UUID
		var worker *uuid.UUID
		if err := row(&h.ExecutionID, &task, &h.Kind, &h.Queue, column.OptIDInto(&worker)); err != nil {
			return err
		}
		h.TaskID = &task
		if worker == nil {
			return nil
		}
		if w := workers[*worker]; w != nil {
			hold(w, h)
		}
		return nil
	})
}

func hold(w *perdure.WorkerInfo, h perdure.WorkerHold) {
	w.Holding = min(w.Holding+1, perdure.MaxQueueCount)
	if len(w.Holds) < perdure.MaxListedHolds {
		w.Holds = append(w.Holds, h)
	}
}
