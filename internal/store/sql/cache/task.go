package cache

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var taskByID = statement.Read("SELECT " + load.TaskRows.List("t") + " FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ?")

// loadTask reads one task without its contents; nil if there is none.
func loadTask(v statement.View, execution, id uuid.UUID) (*perdure.Task, error) {
	found, err := load.Tasks(v, taskByID, []any{execution[:], id[:]}, false)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}
