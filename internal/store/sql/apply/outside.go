package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

func (t *Transaction) applyOutside(org string, ch *store.Changes) error {
	if ch.DeleteDefinition != nil {
		if err := t.Write(dropDefinition, ch.DeleteDefinition[:], org); err != nil {
			return err
		}
		t.ForgetAll() // references to the definition became null
	}
	if ch.Idempotency != nil {
		if err := putIdempotency(t.View, org, ch.Idempotency, t.now); err != nil {
			return err
		}
	}
	if ch.Key != nil {
		if err := tenant.KeyRows.Write(t.View, upsertKey, ch.Key); err != nil {
			return err
		}
	}
	if ch.Org != nil {
		if err := tenant.OrgRows.Write(t.View, upsertOrg, ch.Org); err != nil {
			return err
		}
	}
	if ch.Secret != nil {
		if err := putSecret(t.View, ch.Secret); err != nil {
			return err
		}
	}
	if ch.Audit != nil {
		if err := tenant.AuditRows.Write(t.View, insertAudit, ch.Audit); err != nil {
			return err
		}
	}
	for i := range ch.Kinds {
		if err := load.KindRows.Write(t.View, upsertKind, &ch.Kinds[i]); err != nil {
			return err
		}
	}
	return nil
}

var upsertDefinition = statement.Declare(tenant.DefinitionRows.UpsertStatement())

func putDefinition(v statement.View, d *perdure.Definition) error {
	return tenant.DefinitionRows.Write(v, upsertDefinition, d)
}

var upsertOrg = statement.Declare(tenant.OrgRows.UpsertStatement())

var insertSecret = statement.Insert("store_secret", "name, value, created_at", statement.IgnoringOn("name"))

func putSecret(v statement.View, s *store.Secret) error {
	return v.Write(insertSecret, s.Name, s.Value, column.Millis(s.CreatedAt))
}

var insertAudit = statement.Declare(tenant.AuditRows.InsertStatement())

var upsertKind = statement.Declare(load.KindRows.UpsertStatement())

// idempotencyRow is the row of an idempotency key: the key and its org.
type idempotencyRow struct {
	Org string
	*store.Idempotency
}

var idempotencyRows = row.New("idempotency", 2, []row.Field[idempotencyRow]{
	row.Text("org_id", func(x *idempotencyRow) *string { return &x.Org }).Unread(),
	row.Text("idempotency_key", func(x *idempotencyRow) *string { return &x.Key }),
	row.Hash("request_hash", func(x *idempotencyRow) *perdure.Hash { return &x.RequestHash }),
	row.ID("agent_execution_id", func(x *idempotencyRow) *uuid.UUID { return &x.Execution }),
	row.Time("expires_at", func(x *idempotencyRow) *perdure.Time { return &x.ExpiresAt }),
})

var (
	upsertIdempotency = statement.Declare(idempotencyRows.UpsertStatement())
	idempotencyByKey  = statement.Read("SELECT " + idempotencyRows.List("") + " FROM idempotency" +
		" WHERE org_id = ? AND idempotency_key = ? AND " + column.UnindexedNumber("expires_at") + " > ?")
	// sweepIdempotency deletes expired idempotency keys. It runs at each insertion of a key, so
	// expired keys do not accumulate.
	sweepIdempotency = statement.Alone("DELETE FROM idempotency WHERE (org_id, idempotency_key) IN" +
		" (SELECT org_id, idempotency_key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT 4)")
)

func putIdempotency(v statement.View, org string, i *store.Idempotency, now perdure.Time) error {
	if err := v.Write(sweepIdempotency, column.Millis(now)); err != nil {
		return err
	}
	return idempotencyRows.Write(v, upsertIdempotency, &idempotencyRow{org, i})
}

func loadIdempotency(v statement.View, org, key string, now perdure.Time) (*store.Idempotency, error) {
	var i store.Idempotency
	found, err := v.One(idempotencyByKey, []any{org, key, column.Millis(now)}, idempotencyRows.Scan(nil, &idempotencyRow{org, &i})...)
	if err != nil || !found {
		return nil, err
	}
	return &i, nil
}
