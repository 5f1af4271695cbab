package relational

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// content is where a payload is stored: in its row, or in a blob that the row refers to. Rows are
// rewritten at each change, so a payload over InlineLimit that was not uploaded as a blob becomes a
// blob here.
type content struct {
	inline json.RawMessage
	ref    *perdure.BlobRef
	loose  json.RawMessage // payload that will be stored as the blob ref
	kept   bool            // the stored content remains
}

// planContent returns where to store a payload of a new row.
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

// replaceContent returns where to store a payload of an existing row that refers to the blob
// stored, if any. The stored content remains if there is no new one, or if ref is the same blob. A
// payload beside the same blob replaces that blob.
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

// column returns the value of the row's own content column.
func (c *content) column() any {
	if c.kept {
		return unchanged{}
	}
	return rawBytes(c.inline)
}

func refID(ref *perdure.BlobRef) any {
	if ref == nil {
		return nil
	}
	return ref.ID[:]
}

var (
	insertBlob   = alone("INSERT INTO blob (agent_execution_id, id, length, held, sha256, owned, created_at) VALUES (?, ?, ?, ?, ?, 1, ?)")
	putBlobChunk = insert("blob_chunk", "agent_execution_id, id, n, content", replacing("agent_execution_id, id, n", "content = excluded.content"))
	chunkOfBlob  = read("SELECT content FROM blob_chunk WHERE agent_execution_id = ? AND id = ? AND n = ?")
	chunksOfBlob = read("SELECT content FROM blob_chunk WHERE agent_execution_id = ? AND id = ? ORDER BY n")
	refOfBlob    = read("SELECT length, sha256 FROM blob WHERE agent_execution_id = ? AND id = ?")
)

// spill stores the contents that become blobs. The execution's row must exist.
func spill(v view, execution uuid.UUID, now perdure.Time, contents ...content) error {
	for _, c := range contents {
		if c.loose == nil {
			continue
		}
		err := v.write(insertBlob, execution[:], c.ref.ID[:], c.ref.Length, c.ref.Length, c.ref.SHA256[:], millis(now))
		if err == nil {
			err = writeBlob(v, execution, c.ref.ID, 0, c.loose)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeBlob stores a piece of a blob, in rows of BlobChunk bytes. If a piece begins in the middle
// of a row, that row is rewritten.
func writeBlob(v view, execution, id uuid.UUID, at int64, piece []byte) error {
	for len(piece) > 0 {
		n, from := at/perdure.BlobChunk, at%perdure.BlobChunk
		size := min(int64(len(piece)), perdure.BlobChunk-from)
		row := piece[:size]
		if from > 0 {
			head, err := blobRow(v, execution, id, n)
			if err != nil {
				return err
			}
			if int64(len(head)) < from {
				return errors.New("a piece of a blob leaves a hole")
			}
			row = append(head[:from:from], row...)
		}
		err := v.write(putBlobChunk, execution[:], id[:], n, row)
		if err != nil {
			return err
		}
		at, piece = at+size, piece[size:]
	}
	return nil
}

// blobRow reads one row of a blob; nil if there is none.
func blobRow(v view, execution, id uuid.UUID, n int64) ([]byte, error) {
	var row []byte
	found, err := v.one(chunkOfBlob, []any{execution[:], id[:], n}, &row)
	if err != nil || found {
		return row, err
	}
	whole, err := composedBlob(v, execution, id)
	from := min(n*perdure.BlobChunk, int64(len(whole)))
	return whole[from:min(from+perdure.BlobChunk, int64(len(whole)))], err
}

// loadRef returns the reference to a blob; nil for a nil id.
func loadRef(v view, execution uuid.UUID, id *uuid.UUID) (*perdure.BlobRef, error) {
	if id == nil {
		return nil, nil
	}
	ref := perdure.BlobRef{ID: *id}
	return &ref, completeRef(v, execution, &ref)
}

// completeRefs returns functions that set the length and the hash of scanned references. nil
// references are left out.
func completeRefs(execution uuid.UUID, refs ...*perdure.BlobRef) (fs []func(view) error) {
	for _, ref := range refs {
		if ref != nil {
			fs = append(fs, func(v view) error { return completeRef(v, execution, ref) })
		}
	}
	return fs
}

func completeRef(v view, execution uuid.UUID, ref *perdure.BlobRef) error {
	found, err := v.one(refOfBlob, []any{execution[:], ref.ID[:]}, &ref.Length, hashInto(&ref.SHA256))
	if err == nil && !found {
		err = errors.New("a row names the blob " + ref.ID.String() + ", which is gone")
	}
	return err
}

// loadBlob reads a whole blob.
func loadBlob(v view, execution uuid.UUID, ref *perdure.BlobRef) (json.RawMessage, error) {
	whole := make([]byte, 0, ref.Length)
	err := v.each(chunksOfBlob, []any{execution[:], ref.ID[:]}, func(row func(...any) error) error {
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

// joinContent loads the blob of a content that is not inline, and clears the reference. If the blob
// is withheld (its content is not stored here), the reference remains.
func joinContent(v view, execution uuid.UUID, into *json.RawMessage, ref **perdure.BlobRef) error {
	if *ref == nil {
		return nil
	}
	whole, err := loadWhole(v, execution, *ref)
	if err != nil || whole == nil {
		return err
	}
	*into, *ref = whole, nil
	return nil
}

// joiner is a function that loads the blob of a content, or leaves the reference: joinContent or
// Reader.join.
type joiner func(v view, execution uuid.UUID, into *json.RawMessage, ref **perdure.BlobRef) error

// loadWhole reads a whole blob. It returns nil for a withheld blob, whose content is not stored
// here.
func loadWhole(v view, execution uuid.UUID, ref *perdure.BlobRef) (json.RawMessage, error) {
	var there bool
	_, err := v.one(blobIsWhole, []any{execution[:], ref.ID[:]}, flagInto(&there))
	if err != nil || !there {
		return nil, err
	}
	return loadBlob(v, execution, ref)
}

// joinEntry loads an entry's content from its blob. In a LOCAL execution the blob also holds the
// entry's metadata, which joinEntry moves into the entry.
func (r *Reader) joinEntry(v view, execution uuid.UUID, e *perdure.Entry) error {
	ref := e.Blob
	err := r.join(v, execution, &e.Content, &e.Blob)
	if err == nil && ref != nil && e.Blob == nil && ref.ID == perdure.ContentID(execution, ref.SHA256) {
		e.Unfold()
	}
	return err
}

// blobReader reads a blob row by row, each in its own read transaction. The rows of a complete blob
// never change.
type blobReader struct {
	read func(n int64) ([]byte, error)
	n    int64
	rest []byte
	left int64
}

func (b *blobReader) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		if b.left <= 0 {
			return 0, io.EOF
		}
		row, err := b.read(b.n)
		if err != nil {
			return 0, err
		}
		if len(row) == 0 {
			return 0, io.ErrUnexpectedEOF
		}
		b.rest, b.n, b.left = row, b.n+1, b.left-int64(len(row))
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *blobReader) Close() error { return nil }
