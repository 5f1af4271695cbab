// Package contents reads contents that are stored in blobs, and contents that refer to a part of an
// entry. It also declares the rows of blobs.
package contents

import (
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	chunkOfBlob  = statement.Read("SELECT content FROM blob_chunk WHERE agent_execution_id = ? AND id = ? AND n = ?")
	chunksOfBlob = statement.Read("SELECT content FROM blob_chunk WHERE agent_execution_id = ? AND id = ? ORDER BY n")
	refOfBlob    = statement.Read("SELECT length, sha256 FROM blob WHERE agent_execution_id = ? AND id = ?")
)

// BlobChunk reads the row n of a blob's content; nil if there is none.
func BlobChunk(v statement.View, execution, id uuid.UUID, n int64) ([]byte, error) {
	var row []byte
	found, err := v.One(chunkOfBlob, []any{execution[:], id[:], n}, &row)
	if err != nil || found {
		return row, err
	}
	whole, err := composedBlob(v, execution, id)
	from := min(n*perdure.BlobChunk, int64(len(whole)))
	return whole[from:min(from+perdure.BlobChunk, int64(len(whole)))], err
}

// Ref returns the reference to a blob, with length and hash. It returns nil if id is nil.
func Ref(v statement.View, execution uuid.UUID, id *uuid.UUID) (*perdure.BlobRef, error) {
	if id == nil {
		return nil, nil
	}
	ref := perdure.BlobRef{ID: *id}
	return &ref, CompleteRef(v, execution, &ref)
}

// CompleteRefs returns functions that set the lengths and the hashes of scanned references. It
// leaves out references that are nil.
func CompleteRefs(execution uuid.UUID, refs ...*perdure.BlobRef) (fs []func(statement.View) error) {
	for _, ref := range refs {
		if ref != nil {
			fs = append(fs, func(v statement.View) error { return CompleteRef(v, execution, ref) })
		}
	}
	return fs
}

// CompleteRef sets the length and the hash of a scanned reference. It ignores nil.
func CompleteRef(v statement.View, execution uuid.UUID, ref *perdure.BlobRef) error {
	if ref == nil {
		return nil
	}
	found, err := v.One(refOfBlob, []any{execution[:], ref.ID[:]}, &ref.Length, column.HashInto(&ref.SHA256))
	if err == nil && !found {
		err = errors.New("a row names the blob " + ref.ID.String() + ", which is gone")
	}
	return err
}

// Blob reads a whole blob.
func Blob(v statement.View, execution uuid.UUID, ref *perdure.BlobRef) (json.RawMessage, error) {
	whole := make([]byte, 0, ref.Length)
	err := v.Each(chunksOfBlob, []any{execution[:], ref.ID[:]}, func(row func(...any) error) error {
		var piece []byte
		err := row(&piece)
		whole = append(whole, piece...)
		return err
	})
	if err == nil && len(whole) == 0 && ref.Length > 0 {
		whole, err = composedBlob(v, execution, ref.ID)
	}
	if err == nil && int64(len(whole)) != ref.Length {
		err = errors.New("the blob " + ref.ID.String() + " is not all there")
	}
	return whole, err
}

// JoinContent loads a content from its blob, if it is in one, and clears the reference. If the blob
// is withheld (only the home worker has the content), the reference remains.
func JoinContent(v statement.View, execution uuid.UUID, into *json.RawMessage, ref **perdure.BlobRef) error {
	if *ref == nil {
		return nil
	}
	whole, err := Whole(v, execution, *ref)
	if err != nil || whole == nil {
		return err
	}
	*into, *ref = whole, nil
	return nil
}

// Whole reads the content of a blob. It returns nil if the blob is withheld (only the home worker
// has the content).
func Whole(v statement.View, execution uuid.UUID, ref *perdure.BlobRef) (json.RawMessage, error) {
	var there bool
	_, err := v.One(blobIsWhole, []any{execution[:], ref.ID[:]}, column.FlagInto(&there))
	if err != nil || !there {
		return nil, err
	}
	return Blob(v, execution, ref)
}
