package cache

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	executionSelect = "SELECT " + load.ExecutionRows.List("x") + load.ExecutionHead + load.ExecutionFrom
	executionByID   = statement.Read(executionSelect + " AND x.id = ?")
)

// loadExecution reads the row of an execution without its contents.
func loadExecution(v statement.View, id uuid.UUID) (load.ExecutionRow, error) {
	found, err := load.Executions(v, executionByID, id[:], false)
	if err != nil || len(found) == 0 {
		return load.ExecutionRow{}, err
	}
	return found[0], nil
}

var taskByID = statement.Read("SELECT " + load.TaskRows.List("t") + " FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ?")

// loadTask reads one task without its contents; nil if there is none.
func loadTask(v statement.View, execution, id uuid.UUID) (*perdure.Task, error) {
	found, err := load.Tasks(v, taskByID, []any{execution[:], id[:]}, false)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}
