package load

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// KindRows declares the rows of the table of kinds of agents and tasks.
var KindRows = row.New("kind", 3, []row.Field[store.Kind]{
	row.Text("org_id", func(x *store.Kind) *string { return &x.Org }),
	row.Flag("agent", func(x *store.Kind) *bool { return &x.Agent }),
	row.Text("kind", func(x *store.Kind) *string { return &x.Spec.Kind }),
	row.OptText("description", func(x *store.Kind) *string { return &x.Spec.Description }),
	row.RawText("input_schema", func(x *store.Kind) *json.RawMessage { return &x.Spec.InputSchema }),
	row.JSON("providers", func(x *store.Kind) *[]string { return &x.Spec.Providers }, nil),
	row.JSON("endpoints", func(x *store.Kind) *[]perdure.ModelEndpoint { return &x.Spec.Endpoints }, nil),
	row.JSON("signals", func(x *store.Kind) *[]store.KindSignal { return &x.Signals }, nil),
	row.JSON("outputs", func(x *store.Kind) *[]store.KindOutput { return &x.Outputs }, nil),
	row.JSON("tags", func(x *store.Kind) *[]string { return &x.Spec.Tags }, nil),
	row.Time("seen_at", func(x *store.Kind) *perdure.Time { return &x.SeenAt }),
})

// KindColumns is the beginning of a query for kinds of agents and tasks, up to its condition.
var KindColumns = "SELECT " + KindRows.List("") + " FROM kind"

// KindsOfOrg selects all kinds of agents and tasks of an org.
var KindsOfOrg = statement.Read(KindColumns + " WHERE org_id = ? ORDER BY agent DESC, kind")

// Kinds reads the kinds of agents and tasks that a query selects.
func Kinds(v statement.View, query *statement.Statement, args ...any) (kinds []store.Kind, err error) {
	err = v.Each(query, args, func(row func(...any) error) error {
		var k store.Kind
		err := row(KindRows.Scan(nil, &k)...)
		kinds = append(kinds, k)
		return err
	})
	return kinds, err
}
