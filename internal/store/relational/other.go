package relational

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// This file contains the rows outside of executions, and blobs.

var definitionTable = table{name: "agent_definition", key: 1, columns: []string{
	"id", "org_id", "name", "slug", "description", "system_prompt", "models", "tools", "config", "metadata", "created_at", "updated_at", "version", "retention",
}}

var (
	upsertDefinition = definitionTable.upsertSQL()
	definitionSelect = "SELECT " + definitionTable.list("d") + ", d.number FROM agent_definition d WHERE "
	definitionByID   = definitionSelect + "d.id = ?1 AND (?2 = '' OR d.org_id = ?2)"
	definitionBySlug = definitionSelect + "d.org_id = ?1 AND d.slug = ?2"
	definitionsFrom  = definitionSelect + "d.org_id = ?1 AND d.number > ?2 ORDER BY d.number LIMIT ?3"
)

func putDefinition(v view, d *perdure.Definition) error {
	models, err := encode(d.Models)
	if err != nil {
		return err
	}
	tools, err := encode(d.Tools)
	if err != nil {
		return err
	}
	config, err := encode(d.Config)
	if err != nil {
		return err
	}
	var retention any
	if d.Retention != nil {
		if retention, err = encode(d.Retention); err != nil {
			return err
		}
	}
	err = v.write(upsertDefinition, d.ID[:], d.Org, d.Name, d.Slug, optText(d.Description), d.SystemPrompt, models, tools, config,
		rawText(d.Metadata), millis(d.CreatedAt), millis(d.UpdatedAt), d.Version, retention)
	return err
}

func definitionScan(d *perdure.Definition, number *int64) []any {
	return []any{
		&d.ID, &d.Org, &d.Name, &d.Slug,
		text[string]{&d.Description},
		&d.SystemPrompt,
		decoded{&d.Models},
		decoded{&d.Tools},
		decoded{&d.Config},
		raw{&d.Metadata},
		(*timeCol)(&d.CreatedAt), (*timeCol)(&d.UpdatedAt), &d.Version,
		decoded{&d.Retention},
		number,
	}
}

func loadDefinition(v view, query string, args ...any) (*perdure.Definition, error) {
	var (
		d      perdure.Definition
		number int64
	)
	found, err := v.one(query, args, definitionScan(&d, &number)...)
	if err != nil || !found {
		return nil, err
	}
	return &d, nil
}

const (
	upsertIdempotency = "INSERT INTO idempotency (org_id, idempotency_key, request_hash, agent_execution_id, expires_at) VALUES (?, ?, ?, ?, ?)" +
		" ON CONFLICT (org_id, idempotency_key) DO UPDATE SET request_hash = excluded.request_hash," +
		" agent_execution_id = excluded.agent_execution_id, expires_at = excluded.expires_at"
	idempotencyByKey = "SELECT idempotency_key, request_hash, agent_execution_id, expires_at FROM idempotency" +
		" WHERE org_id = ? AND idempotency_key = ? AND expires_at > ?"
	// sweepIdempotency runs at each insertion, so that expired keys do not accumulate.
	sweepIdempotency = "DELETE FROM idempotency WHERE (org_id, idempotency_key) IN" +
		" (SELECT org_id, idempotency_key FROM idempotency WHERE expires_at <= ? ORDER BY expires_at LIMIT 4)"
)

func putIdempotency(v view, org string, i *store.Idempotency, now perdure.Time) error {
	if err := v.write(sweepIdempotency, millis(now)); err != nil {
		return err
	}
	return v.write(upsertIdempotency, org, i.Key, i.RequestHash[:], i.Execution[:], millis(i.ExpiresAt))
}

func loadIdempotency(v view, org, key string, now perdure.Time) (*store.Idempotency, error) {
	var i store.Idempotency
	found, err := v.one(idempotencyByKey, []any{org, key, millis(now)}, &i.Key, (*hashCol)(&i.RequestHash), &i.Execution, (*timeCol)(&i.ExpiresAt))
	if err != nil || !found {
		return nil, err
	}
	return &i, nil
}

const (
	upsertKind = "INSERT INTO kind (org_id, agent, kind, description, input_schema, providers, endpoints, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)" +
		" ON CONFLICT (org_id, agent, kind) DO UPDATE SET description = excluded.description, input_schema = excluded.input_schema, providers = excluded.providers, endpoints = excluded.endpoints, seen_at = excluded.seen_at"
	kindColumns = "SELECT org_id, agent, kind, description, input_schema, providers, endpoints, seen_at FROM kind"
	kindsOfOrg  = kindColumns + " WHERE org_id = ? ORDER BY agent DESC, kind"
	agentKind   = kindColumns + " WHERE org_id = ? AND agent = 1 AND kind = ?"
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

const (
	upsertBlob = "INSERT INTO blob (agent_execution_id, id, length, held, digest, sha256, owned, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)" +
		" ON CONFLICT (agent_execution_id, id) DO UPDATE SET length = excluded.length, held = excluded.held, digest = excluded.digest," +
		" sha256 = excluded.sha256, owned = excluded.owned"
	blobColumns = "SELECT id, length, held, digest, sha256, owned, staged FROM blob WHERE agent_execution_id = ?"
	blobByID    = blobColumns + " AND id = ? AND owned < 2"
	blobBySum   = blobColumns + " AND sha256 = ? AND owned = 1 AND held = length LIMIT 1"
	blobIsWhole = "SELECT held = length FROM blob WHERE agent_execution_id = ? AND id = ?"
	ownBlob     = "UPDATE blob SET owned = 1 WHERE agent_execution_id = ? AND id = ?"
)

func putBlob(v view, execution uuid.UUID, b *store.Blob, now perdure.Time) error {
	var sum any
	if b.SHA256 != (perdure.Hash{}) {
		sum = b.SHA256[:]
	}
	return v.write(upsertBlob, execution[:], b.ID[:], b.Length, b.Held, rawBytes(b.Digest), sum, flag(b.Owned), millis(now))
}

func blobScan(b *store.Blob) []any {
	return []any{&b.ID, &b.Length, &b.Held, &b.Digest, (*hashCol)(&b.SHA256), (*flagCol)(&b.Owned), &b.Staged}
}

func loadBlobRow(v view, execution, id uuid.UUID) (*store.Blob, error) {
	var b store.Blob
	found, err := v.one(blobByID, []any{execution[:], id[:]}, blobScan(&b)...)
	if err != nil || !found {
		return nil, err
	}
	return &b, nil
}
