package load

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const (
	// BlobColumns is the beginning of a query for blobs of an execution.
	BlobColumns = "SELECT id, length, held, digest, sha256, owned, staged FROM blob WHERE agent_execution_id = ?"
)

var (
	blobByID    = statement.Read(BlobColumns + " AND id = ? AND owned < 2")
	blobIsWhole = statement.Read("SELECT held = length FROM blob WHERE agent_execution_id = ? AND id = ?")
)

// BlobScan returns the destinations of the columns of BlobColumns.
func BlobScan(b *store.Blob) []any {
	return []any{&b.ID, &b.Length, &b.Held, &b.Digest, column.HashInto(&b.SHA256), column.FlagInto(&b.Owned), &b.Staged}
}

// BlobRow returns the row of a blob without its content; nil if there is none.
func BlobRow(v statement.View, execution, id uuid.UUID) (*store.Blob, error) {
	var b store.Blob
	found, err := v.One(blobByID, []any{execution[:], id[:]}, BlobScan(&b)...)
	if err != nil || !found {
		return nil, err
	}
	return &b, nil
}
