package apply

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	tasksOpen = statement.Read("SELECT " + load.TaskRows.List("t") + " FROM task_execution t WHERE t.agent_execution_id = ? AND t.status IN ('PENDING', 'RUNNING') ORDER BY t.number")
	tasksHeld = statement.Read("SELECT " + load.TaskRows.List("t") + " FROM task_execution t WHERE t.agent_execution_id = ? AND t.status = 'RUNNING' ORDER BY t.number")
)

func cloneTask(t *perdure.Task) *perdure.Task {
	if t == nil {
		return nil
	}
	c := *t
	c.Error, c.WorkerID = clonePtr(t.Error), clonePtr(t.WorkerID)
	c.StartedAt, c.CompletedAt = clonePtr(t.StartedAt), clonePtr(t.CompletedAt)
	c.Options.Priority = clonePtr(t.Options.Priority)
	c.InputBlob, c.ResultBlob = clonePtr(t.InputBlob), clonePtr(t.ResultBlob)
	return &c
}

// putTask inserts the row of a task, or updates the existing row `before` if it is not nil. It
// returns the row as it is stored now, without contents.
func putTask(v statement.View, before *load.TaskRow, t *perdure.Task, now perdure.Time) (*load.TaskRow, error) {
	after := cloneTask(t)
	after.Input, after.Result = nil, nil
	input, result := planContent(t.Input, t.InputBlob), planContent(t.Result, t.ResultBlob)
	if before != nil {
		input = replaceContent(t.Input, t.InputBlob, before.InputBlob)
		result = replaceContent(t.Result, t.ResultBlob, before.ResultBlob)
	}
	after.InputBlob, after.ResultBlob = input.ref, result.ref
	values, err := load.TaskValues(after, before)
	if err != nil {
		return nil, err
	}
	whole := append(values, input.column(), result.column())
	if before == nil {
		err = load.TaskRows.Insert(v, whole)
	} else {
		var old []any
		if old, err = before.Columns(); err == nil {
			err = load.TaskRows.Update(v, old, whole)
		}
		// Only the result of an ended task can be stored as a reference to an entry. A new result
		// replaces that reference.
		if err == nil && !result.kept && before.Status.Terminal() {
			err = v.Write(unnameResult, t.ExecutionID[:], t.ID[:])
		}
	}
	if err != nil {
		return nil, err
	}
	if err := makeRoom(v, before.OrNil(), after); err != nil {
		return nil, err
	}
	return &load.TaskRow{Task: after, Values: values}, spill(v, t.ExecutionID, now, input, result)
}
