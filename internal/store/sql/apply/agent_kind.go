package apply

import (
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var upsertKind = statement.Insert("kind", "org_id, agent, kind, description, input_schema, providers, endpoints, seen_at",
	statement.Replacing("org_id, agent, kind", "description = excluded.description, input_schema = excluded.input_schema, providers = excluded.providers, endpoints = excluded.endpoints, seen_at = excluded.seen_at"))

func putKind(v statement.View, k *store.Kind) error {
	providers, err := column.Encode(k.Spec.Providers)
	if err != nil {
		return err
	}
	endpoints, err := column.Encode(k.Spec.Endpoints)
	if err != nil {
		return err
	}
	return v.Write(upsertKind, k.Org, column.Flag(k.Agent), k.Spec.Kind, column.OptText(k.Spec.Description), column.RawText(k.Spec.InputSchema), providers, endpoints, column.Millis(k.SeenAt))
}
