package load

import (
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

func Kinds(v statement.View, query *statement.Statement, args ...any) (kinds []store.Kind, err error) {
	err = v.Each(query, args, func(row func(...any) error) error {
		var k store.Kind
		err := row(&k.Org, column.FlagInto(&k.Agent), &k.Spec.Kind, column.TextInto(&k.Spec.Description), column.RawInto(&k.Spec.InputSchema), column.JsonInto(&k.Spec.Providers), column.JsonInto(&k.Spec.Endpoints), column.TimeInto(&k.SeenAt))
		kinds = append(kinds, k)
		return err
	})
	return kinds, err
}
