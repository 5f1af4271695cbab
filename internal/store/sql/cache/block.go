package cache

import (
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var blockByKey = statement.Read(load.BlockSelect + " AND b.task_id = ? AND b.attempt = ? AND b.block = ?")
