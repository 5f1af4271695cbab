package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	upsertBlob = statement.Insert("blob", "agent_execution_id, id, length, held, digest, sha256, owned, created_at",
		statement.Replacing("agent_execution_id, id", "length = excluded.length, held = excluded.held, digest = excluded.digest, sha256 = excluded.sha256, owned = excluded.owned"))
	ownBlob = statement.Update("blob", statement.Terms{}.Fixed("owned", "= 1"), statement.Columns("agent_execution_id, id"))
)

func putBlob(v statement.View, execution uuid.UUID, b *store.Blob, now perdure.Time) error {
	var sum any
	if b.SHA256 != (perdure.Hash{}) {
		sum = b.SHA256[:]
	}
	return v.Write(upsertBlob, execution[:], b.ID[:], b.Length, b.Held, column.RawBytes(b.Digest), sum, column.Flag(b.Owned), column.Millis(now))
}
