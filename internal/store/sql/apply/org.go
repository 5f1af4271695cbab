package apply

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var upsertOrg = statement.Declare(load.OrgRows.UpsertStatement())

func putOrg(v statement.View, o *perdure.Org) error {
	return load.OrgRows.Write(v, upsertOrg, o)
}
