package read

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	taskWhole  = statement.Read("SELECT " + load.TaskRows.List("t") + ", t.input, t.result, t.result_of FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ?")
	tasksAfter = statement.Read("SELECT " + load.TaskRows.List("t") + ", t.input, t.result, t.result_of, t.number FROM task_execution t WHERE t.agent_execution_id = ?1 AND t.number > ?2 AND t.number > 0 AND (?3 = 1 OR t.step = 0) ORDER BY t.number LIMIT ?4")
)

func tasksAmong(w *statement.Dialect) *statement.Statement {
	return statement.NewAlone("SELECT " + load.TaskRows.List("t") + ", t.input, t.result, t.result_of FROM " + w.AmongIDs("task_execution", "t"))
}

// loadTaskPage reads tasks and their numbers, oldest first.
func loadTaskPage(v statement.View, execution uuid.UUID, steps bool, after int64, limit int) (found []*perdure.Task, numbers []int64, err error) {
	found, err = load.Tasks(v, tasksAfter, []any{execution[:], after, column.Flag(steps), limit}, true, func() any {
		numbers = append(numbers, 0)
		return &numbers[len(numbers)-1]
	})
	return found, numbers, err
}

var agentKind = statement.Read(load.KindColumns + " WHERE org_id = ? AND agent = 1 AND kind = ?")

var definitionsFrom = statement.Read(tenant.DefinitionSelect + "d.org_id = ?1 AND d.number > ?2 ORDER BY d.number LIMIT ?3")

// Tasks implements [store.Reader].
func (r *Reader) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, lazy bool) ([]*perdure.Task, error) {
	tasks := make([]*perdure.Task, len(ids))
	err := r.Read(ctx, func(v statement.View) error {
		found, err := tasksByID(v, execution, ids)
		if err != nil {
			return err
		}
		for i, id := range ids {
			if tasks[i] = found[id]; tasks[i] == nil {
				continue
			}
			if _, err := r.joinTask(v, &tasks[i], lazy); err != nil {
				return err
			}
		}
		return nil
	})
	return tasks, err
}

// tasksByID reads tasks with their contents, using one statement for any number of tasks.
func tasksByID(v statement.View, execution uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]*perdure.Task, error) {
	found := make(map[uuid.UUID]*perdure.Task, len(ids))
	query, args := taskWhole, []any{execution[:], nil}
	switch len(ids) {
	case 0:
		return found, nil
	case 1:
		args[1] = ids[0][:]
	default:
		list, err := v.Dialect.IDs(ids)
		if err != nil {
			return nil, err
		}
		query, args[1] = tasksAmong(v.Dialect), list
	}
	tasks, err := load.Tasks(v, query, args, true)
	for _, t := range tasks {
		found[t.ID] = t
	}
	return found, err
}

func (r *Reader) joinTask(v statement.View, task **perdure.Task, lazy bool) (int, error) {
	t := *task
	if lazy {
		return 0, nil
	}
	if err := r.join(v, t.ExecutionID, &t.Input, &t.InputBlob); err != nil {
		return 0, err
	}
	err := r.join(v, t.ExecutionID, &t.Result, &t.ResultBlob)
	return store.Weight(t.Input, t.InputBlob) + store.Weight(t.Result, t.ResultBlob), err
}

// ListTasks implements [store.Reader].
func (r *Reader) ListTasks(ctx context.Context, execution uuid.UUID, steps bool, cursor string, limit int) (store.Page[*perdure.Task], error) {
	return base.List(ctx, r.Source, cursor, limit, 0, func(v statement.View, after int64, limit int, add func(int64, *perdure.Task) bool) error {
		tasks, numbers, err := loadTaskPage(v, execution, steps, after, limit)
		for i, t := range tasks {
			add(numbers[i], t)
		}
		return err
	}, func(v statement.View, t **perdure.Task) (int, error) { return r.joinTask(v, t, false) })
}

// Definition implements [store.Reader].
func (r *Reader) Definition(ctx context.Context, org string, id uuid.UUID) (*perdure.Definition, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*perdure.Definition, error) {
		return tenant.Definition(v, tenant.DefinitionByID, id[:], org)
	}, "there is no agent definition %s", id)
}

// DefinitionBySlug implements [store.Reader].
func (r *Reader) DefinitionBySlug(ctx context.Context, org, slug string) (*perdure.Definition, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*perdure.Definition, error) {
		return tenant.Definition(v, tenant.DefinitionBySlug, org, slug)
	}, "there is no agent definition %q", slug)
}

// Definitions implements [store.Reader].
func (r *Reader) Definitions(ctx context.Context, org, cursor string, limit int) (store.Page[*perdure.Definition], error) {
	return base.List(ctx, r.Source, cursor, limit, 0, func(v statement.View, after int64, limit int, add func(int64, *perdure.Definition) bool) error {
		return v.Each(definitionsFrom, []any{org, after, limit}, func(row func(...any) error) error {
			var (
				d      perdure.Definition
				number int64
			)
			err := row(append(tenant.DefinitionRows.Scan(nil, &d), &number)...)
			if err == nil && !add(number, &d) {
				err = statement.ErrStop
			}
			return err
		})
	}, base.Nothing[*perdure.Definition])
}

// Kinds implements [store.Reader].
func (r *Reader) Kinds(ctx context.Context, org string) ([]store.Kind, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]store.Kind, error) { return load.Kinds(v, load.KindsOfOrg, org) })
}

// AgentKind implements [store.Reader].
func (r *Reader) AgentKind(ctx context.Context, org, kind string) (*store.Kind, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*store.Kind, error) { return load.KindRows.One(v, agentKind, org, kind) },
		"there is no kind of agents %q", kind)
}
