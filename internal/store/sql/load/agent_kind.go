package load

import (
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const (
	KindColumns = "SELECT org_id, agent, kind, description, input_schema, providers, endpoints, seen_at FROM kind"
)

var KindsOfOrg = statement.Read(KindColumns + " WHERE org_id = ? ORDER BY agent DESC, kind")
