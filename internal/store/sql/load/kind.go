package load

import (
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const (
	// KindColumns is the beginning of a query for kinds, up to its condition.
	KindColumns = "SELECT org_id, agent, kind, description, input_schema, providers, endpoints, signals, seen_at FROM kind"
)

// KindsOfOrg selects all kinds of an org.
var KindsOfOrg = statement.Read(KindColumns + " WHERE org_id = ? ORDER BY agent DESC, kind")

// Kinds reads kinds by a query.
func Kinds(v statement.View, query *statement.Statement, args ...any) (kinds []store.Kind, err error) {
	err = v.Each(query, args, func(row func(...any) error) error {
		var k store.Kind
		err := row(&k.Org, column.FlagInto(&k.Agent), &k.Spec.Kind, column.TextInto(&k.Spec.Description), column.RawInto(&k.Spec.InputSchema), column.JSONInto(&k.Spec.Providers), column.JSONInto(&k.Spec.Endpoints), column.JSONInto(&k.Signals), column.TimeInto(&k.SeenAt))
		kinds = append(kinds, k)
		return err
	})
	return kinds, err
}
