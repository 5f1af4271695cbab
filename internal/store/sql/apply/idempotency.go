package apply

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

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
