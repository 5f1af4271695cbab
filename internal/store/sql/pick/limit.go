package pick

import (
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var blockTask = statement.Update("task_execution", statement.Terms{}.Fixed("blocked", "= 1"), statement.Columns("agent_execution_id, id"))
