package read

import (
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var executionWhole = statement.Read("SELECT " + load.ExecutionRows.List("x") + load.ExecutionHead + ", x.input, x.output" + load.ExecutionFrom + " AND x.id = ?")
