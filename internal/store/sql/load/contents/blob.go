package contents

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// StoredBlob is a blob with its execution.
type StoredBlob struct {
	Execution uuid.UUID
	*store.Blob
	CreatedAt perdure.Time
}

// BlobRows declares the rows of the table of blobs, without the column staged.
var BlobRows = row.New("blob", 2, []row.Field[StoredBlob]{
	row.ID("agent_execution_id", func(x *StoredBlob) *uuid.UUID { return &x.Execution }).Unread(),
	row.ID("id", func(x *StoredBlob) *uuid.UUID { return &x.ID }),
	row.Number("length", func(x *StoredBlob) *int64 { return &x.Length }),
	row.Number("held", func(x *StoredBlob) *int64 { return &x.Held }),
	row.Bytes("digest", func(x *StoredBlob) *[]byte { return &x.Digest }),
	row.OptHash("sha256", func(x *StoredBlob) *perdure.Hash { return &x.SHA256 }),
	row.Flag("owned", func(x *StoredBlob) *bool { return &x.Owned }),
	row.Time("created_at", func(x *StoredBlob) *perdure.Time { return &x.CreatedAt }).Unread(),
})

// BlobColumns is the beginning of a query for blobs of an execution.
var BlobColumns = "SELECT " + BlobRows.List("") + ", staged FROM blob WHERE agent_execution_id = ?"

var (
	blobByID    = statement.Read(BlobColumns + " AND id = ? AND owned < 2")
	blobIsWhole = statement.Read("SELECT held = length FROM blob WHERE agent_execution_id = ? AND id = ?")
)

// BlobScan returns the destinations of the columns of BlobColumns.
func BlobScan(b *store.Blob) []any {
	return append(BlobRows.Scan(nil, &StoredBlob{Blob: b}), &b.Staged)
}

// BlobRow returns the row of a blob without its content; nil if there is none.
func BlobRow(v statement.View, execution, id uuid.UUID) (*store.Blob, error) {
	return BlobBy(v, blobByID, execution[:], id[:])
}

// BlobBy returns the row of the blob that a query starting with BlobColumns selects; nil if there is
// none.
func BlobBy(v statement.View, query *statement.Statement, args ...any) (*store.Blob, error) {
	var b store.Blob
	found, err := v.One(query, args, BlobScan(&b)...)
	if err != nil || !found {
		return nil, err
	}
	return &b, nil
}
