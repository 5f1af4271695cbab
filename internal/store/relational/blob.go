package relational

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const (
	blobColumns = "SELECT id, length, held, digest, sha256, owned, staged FROM blob WHERE agent_execution_id = ?"
)

var (
	upsertBlob = insert("blob", "agent_execution_id, id, length, held, digest, sha256, owned, created_at",
		replacing("agent_execution_id, id", "length = excluded.length, held = excluded.held, digest = excluded.digest, sha256 = excluded.sha256, owned = excluded.owned"))
	blobByID    = read(blobColumns + " AND id = ? AND owned < 2")
	blobBySum   = read(blobColumns + " AND sha256 = ? AND owned = 1 AND held = length LIMIT 1")
	blobIsWhole = read("SELECT held = length FROM blob WHERE agent_execution_id = ? AND id = ?")
	ownBlob     = update("blob", Terms{}.fixed("owned", "= 1"), columns("agent_execution_id, id"))
)

func putBlob(v view, execution uuid.UUID, b *store.Blob, now perdure.Time) error {
	var sum any
	if b.SHA256 != (perdure.Hash{}) {
		sum = b.SHA256[:]
	}
	return v.write(upsertBlob, execution[:], b.ID[:], b.Length, b.Held, rawBytes(b.Digest), sum, flag(b.Owned), millis(now))
}

func blobScan(b *store.Blob) []any {
	return []any{&b.ID, &b.Length, &b.Held, &b.Digest, hashInto(&b.SHA256), flagInto(&b.Owned), &b.Staged}
}

func loadBlobRow(v view, execution, id uuid.UUID) (*store.Blob, error) {
	var b store.Blob
	found, err := v.one(blobByID, []any{execution[:], id[:]}, blobScan(&b)...)
	if err != nil || !found {
		return nil, err
	}
	return &b, nil
}
