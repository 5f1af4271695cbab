package read

import (
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var definitionsFrom = statement.Read(load.DefinitionSelect + "d.org_id = ?1 AND d.number > ?2 ORDER BY d.number LIMIT ?3")
