package read

import (
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var agentKind = statement.Read(load.KindColumns + " WHERE org_id = ? AND agent = 1 AND kind = ?")
