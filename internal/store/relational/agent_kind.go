package relational

import (
	"github.com/perdure/perdure/internal/store"
)

const (
	kindColumns = "SELECT org_id, agent, kind, description, input_schema, providers, endpoints, seen_at FROM kind"
)

var (
	upsertKind = insert("kind", "org_id, agent, kind, description, input_schema, providers, endpoints, seen_at",
		replacing("org_id, agent, kind", "description = excluded.description, input_schema = excluded.input_schema, providers = excluded.providers, endpoints = excluded.endpoints, seen_at = excluded.seen_at"))
	kindsOfOrg = read(kindColumns + " WHERE org_id = ? ORDER BY agent DESC, kind")
	agentKind  = read(kindColumns + " WHERE org_id = ? AND agent = 1 AND kind = ?")
)

func putKind(v view, k *store.Kind) error {
	providers, err := encode(k.Spec.Providers)
	if err != nil {
		return err
	}
	endpoints, err := encode(k.Spec.Endpoints)
	if err != nil {
		return err
	}
	return v.write(upsertKind, k.Org, flag(k.Agent), k.Spec.Kind, optText(k.Spec.Description), rawText(k.Spec.InputSchema), providers, endpoints, millis(k.SeenAt))
}
