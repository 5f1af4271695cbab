package apply

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

func (t *Transaction) applyOutside(org string, ch *store.Changes) error {
	if ch.DeleteDefinition != nil {
		if err := t.Write(dropDefinition, ch.DeleteDefinition[:], org); err != nil {
			return err
		}
		t.ForgetAll() // references became null
	}
	if ch.Idempotency != nil {
		if err := putIdempotency(t.View, org, ch.Idempotency, t.now); err != nil {
			return err
		}
	}
	if ch.Key != nil {
		if err := putKey(t.View, ch.Key); err != nil {
			return err
		}
	}
	if ch.Org != nil {
		if err := putOrg(t.View, ch.Org); err != nil {
			return err
		}
	}
	if ch.Secret != nil {
		if err := putSecret(t.View, ch.Secret); err != nil {
			return err
		}
	}
	if ch.Audit != nil {
		if err := putAudit(t.View, ch.Audit); err != nil {
			return err
		}
	}
	for i := range ch.Kinds {
		if err := putKind(t.View, &ch.Kinds[i]); err != nil {
			return err
		}
	}
	return nil
}

var upsertDefinition = statement.Declare(load.DefinitionRows.UpsertStatement())

func putDefinition(v statement.View, d *perdure.Definition) error {
	return load.DefinitionRows.Write(v, upsertDefinition, d)
}

var upsertOrg = statement.Declare(load.OrgRows.UpsertStatement())

func putOrg(v statement.View, o *perdure.Org) error {
	return load.OrgRows.Write(v, upsertOrg, o)
}

var insertSecret = statement.Insert("store_secret", "name, value, created_at", statement.IgnoringOn("name"))

func putSecret(v statement.View, s *store.Secret) error {
	return v.Write(insertSecret, s.Name, s.Value, column.Millis(s.CreatedAt))
}

var insertAudit = statement.Insert("audit_log", "org_id, at, actor_key_id, actor_name, request_id, remote, action, subject_id, subject_name, before_sha256, after_sha256")

func putAudit(v statement.View, r *perdure.AuditRecord) error {
	return v.Write(insertAudit, r.Org, column.Millis(r.At), column.OptID(r.Actor.KeyID), r.Actor.Name, column.OptText(r.Actor.RequestID), column.OptText(r.Actor.RemoteAddress),
		string(r.Action), column.OptID(r.SubjectID), column.OptText(r.SubjectName), column.OptText(r.Before), column.OptText(r.After))
}

var upsertKind = statement.Insert("kind", "org_id, agent, kind, description, input_schema, providers, endpoints, signals, seen_at",
	statement.Replacing("org_id, agent, kind", "description = excluded.description, input_schema = excluded.input_schema, providers = excluded.providers, endpoints = excluded.endpoints, signals = excluded.signals, seen_at = excluded.seen_at"))

func putKind(v statement.View, k *store.Kind) error {
	providers, err := column.Encode(k.Spec.Providers)
	if err != nil {
		return err
	}
	endpoints, err := column.Encode(k.Spec.Endpoints)
	if err != nil {
		return err
	}
	signals, err := column.Encode(k.Signals)
	if err != nil {
		return err
	}
	return v.Write(upsertKind, k.Org, column.Flag(k.Agent), k.Spec.Kind, column.OptText(k.Spec.Description), column.RawText(k.Spec.InputSchema), providers, endpoints, signals, column.Millis(k.SeenAt))
}

var (
	upsertIdempotency = statement.Insert("idempotency", "org_id, idempotency_key, request_hash, agent_execution_id, expires_at",
		statement.Replacing("org_id, idempotency_key", "request_hash = excluded.request_hash, agent_execution_id = excluded.agent_execution_id, expires_at = excluded.expires_at"))
	idempotencyByKey = statement.Read("SELECT idempotency_key, request_hash, agent_execution_id, expires_at FROM idempotency" +
		" WHERE org_id = ? AND idempotency_key = ? AND expires_at > ?")
	// sweepIdempotency runs at each insertion, so that expired keys do not accumulate.
	sweepIdempotency = statement.Alone("DELETE FROM idempotency WHERE (org_id, idempotency_key) IN" +
		" (SELECT org_id, idempotency_key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT 4)")
)

func putIdempotency(v statement.View, org string, i *store.Idempotency, now perdure.Time) error {
	if err := v.Write(sweepIdempotency, column.Millis(now)); err != nil {
		return err
	}
	return v.Write(upsertIdempotency, org, i.Key, i.RequestHash[:], i.Execution[:], column.Millis(i.ExpiresAt))
}

func loadIdempotency(v statement.View, org, key string, now perdure.Time) (*store.Idempotency, error) {
	var i store.Idempotency
	found, err := v.One(idempotencyByKey, []any{org, key, column.Millis(now)}, &i.Key, column.HashInto(&i.RequestHash), &i.Execution, column.TimeInto(&i.ExpiresAt))
	if err != nil || !found {
		return nil, err
	}
	return &i, nil
}
