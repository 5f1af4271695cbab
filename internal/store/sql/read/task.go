package read

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	taskWhole  = statement.Read("SELECT " + load.TaskRows.List("t") + ", t.input, t.result, t.result_of FROM task_execution t WHERE t.agent_execution_id = ? AND t.id = ?")
	tasksAfter = statement.Read("SELECT " + load.TaskRows.List("t") + ", t.input, t.result, t.result_of, t.number FROM task_execution t WHERE t.agent_execution_id = ?1 AND t.number > ?2 AND t.number > 0 AND (?3 = 1 OR t.step = 0) ORDER BY t.number LIMIT ?4")
)

func tasksAmong(w *statement.Dialect) *statement.Statement {
	return statement.NewAlone("SELECT " + load.TaskRows.List("t") + ", t.input, t.result, t.result_of FROM task_execution t WHERE t.agent_execution_id = ?1 AND t.id " + w.AmongIDs)
}

// loadTaskPage reads tasks with their numbers, oldest first.
func loadTaskPage(v statement.View, execution uuid.UUID, steps bool, after int64, limit int) (found []*perdure.Task, numbers []int64, err error) {
	found, err = load.Tasks(v, tasksAfter, []any{execution[:], after, column.Flag(steps), limit}, true, func() any {
		numbers = append(numbers, 0)
		return &numbers[len(numbers)-1]
	})
	return found, numbers, err
}
