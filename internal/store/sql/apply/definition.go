package apply

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var upsertDefinition = statement.Declare(load.DefinitionRows.UpsertStatement())

func putDefinition(v statement.View, d *perdure.Definition) error {
	return load.DefinitionRows.Write(v, upsertDefinition, d)
}
