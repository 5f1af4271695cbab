package apply

import (
	"crypto/sha256"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// content describes where a payload is stored: in its row, or in a blob to which the row refers. A
// payload over InlineLimit becomes a blob, because each change of a row rewrites the whole row.
type content struct {
	inline json.RawMessage
	ref    *perdure.BlobRef
	loose  json.RawMessage // payload that will be stored in the blob ref
	kept   bool            // the stored content remains
}

// planContent decides where to store a payload of a new row.
func planContent(inline json.RawMessage, ref *perdure.BlobRef) content {
	switch {
	case ref != nil:
		return content{ref: clonePtr(ref)}
	case len(inline) > perdure.InlineLimit:
		made := perdure.BlobRef{ID: uuid.Must(uuid.NewV7()), Length: int64(len(inline)), SHA256: sha256.Sum256(inline)}
		return content{ref: &made, loose: inline}
	}
	return content{inline: inline}
}

// replaceContent decides where to store a payload of an existing row. The parameter `stored` is the
// blob to which the row refers, if any. If `inline` is nil, and `ref` is nil or refers to that
// blob, the stored content remains. If `inline` is set, and `ref` refers to that blob, `inline`
// replaces the blob.
func replaceContent(inline json.RawMessage, ref, stored *perdure.BlobRef) content {
	sameBlob := ref != nil && stored != nil && ref.ID == stored.ID
	switch {
	case inline == nil && (ref == nil || sameBlob):
		return content{ref: clonePtr(stored), kept: true}
	case sameBlob:
		return planContent(inline, nil)
	}
	return planContent(inline, ref)
}

// column returns the value for the row's own content column.
func (c *content) column() any {
	if c.kept {
		return row.Unchanged{}
	}
	return column.RawBytes(c.inline)
}

var (
	insertBlob   = statement.Alone("INSERT INTO blob (agent_execution_id, id, length, held, sha256, owned, created_at) VALUES (?, ?, ?, ?, ?, 1, ?)")
	putBlobChunk = statement.Insert("blob_chunk", "agent_execution_id, id, n, content", statement.Replacing("agent_execution_id, id, n", "content = excluded.content"))
)

// spill stores the contents that planContent has moved to blobs. The execution's row must exist.
func spill(v statement.View, execution uuid.UUID, now perdure.Time, contents ...content) error {
	for _, c := range contents {
		if c.loose == nil {
			continue
		}
		err := v.Write(insertBlob, execution[:], c.ref.ID[:], c.ref.Length, c.ref.Length, c.ref.SHA256[:], column.Millis(now))
		if err == nil {
			err = writeBlob(v, execution, c.ref.ID, 0, c.loose)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeBlob stores a piece of a blob, in rows of BlobChunk bytes. If the piece begins in the middle
// of a row, that row is rewritten.
func writeBlob(v statement.View, execution, id uuid.UUID, at int64, piece []byte) error {
	for len(piece) > 0 {
		n, from := at/perdure.BlobChunk, at%perdure.BlobChunk
		size := min(int64(len(piece)), perdure.BlobChunk-from)
		row := piece[:size]
		if from > 0 {
			head, err := contents.BlobChunk(v, execution, id, n)
			if err != nil {
				return err
			}
			if int64(len(head)) < from {
				return errors.New("a piece of a blob leaves a hole")
			}
			row = append(head[:from:from], row...)
		}
		err := v.Write(putBlobChunk, execution[:], id[:], n, row)
		if err != nil {
			return err
		}
		at, piece = at+size, piece[size:]
	}
	return nil
}

var (
	upsertBlob = statement.Declare(contents.BlobRows.UpsertStatement("created_at"))
	ownBlob    = statement.Update("blob", statement.Terms{}.Fixed("owned", "= 1"), statement.Columns("agent_execution_id, id"))
)

func putBlob(v statement.View, execution uuid.UUID, b *store.Blob, now perdure.Time) error {
	return contents.BlobRows.Write(v, upsertBlob, &contents.StoredBlob{Execution: execution, Blob: b, CreatedAt: now})
}
