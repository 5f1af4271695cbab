package relational

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var (
	upsertIdempotency = insert("idempotency", "org_id, idempotency_key, request_hash, agent_execution_id, expires_at",
		replacing("org_id, idempotency_key", "request_hash = excluded.request_hash, agent_execution_id = excluded.agent_execution_id, expires_at = excluded.expires_at"))
	idempotencyByKey = read("SELECT idempotency_key, request_hash, agent_execution_id, expires_at FROM idempotency" +
		" WHERE org_id = ? AND idempotency_key = ? AND expires_at > ?")
	// sweepIdempotency runs at each insertion, so that expired keys do not accumulate.
	sweepIdempotency = alone("DELETE FROM idempotency WHERE (org_id, idempotency_key) IN" +
		" (SELECT org_id, idempotency_key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT 4)")
)

func putIdempotency(v view, org string, i *store.Idempotency, now perdure.Time) error {
	if err := v.write(sweepIdempotency, millis(now)); err != nil {
		return err
	}
	return v.write(upsertIdempotency, org, i.Key, i.RequestHash[:], i.Execution[:], millis(i.ExpiresAt))
}

func loadIdempotency(v view, org, key string, now perdure.Time) (*store.Idempotency, error) {
	var i store.Idempotency
	found, err := v.one(idempotencyByKey, []any{org, key, millis(now)}, &i.Key, hashInto(&i.RequestHash), &i.Execution, timeInto(&i.ExpiresAt))
	if err != nil || !found {
		return nil, err
	}
	return &i, nil
}
