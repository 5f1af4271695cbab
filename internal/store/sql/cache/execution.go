package cache

import (
	"github.com/google/uuid"
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
