package read

import (
	"encoding/json"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// joiner is a function that loads a content from its blob, or leaves the reference:
// contents.JoinContent, or Reader.join.
type joiner func(v statement.View, execution uuid.UUID, into *json.RawMessage, ref **perdure.BlobRef) error

// joinEntry loads an entry's content from its blob. In a LOCAL execution the blob also holds the
// entry's metadata, which joinEntry moves into the entry.
func (r *Reader) joinEntry(v statement.View, execution uuid.UUID, e *perdure.Entry) error {
	ref := e.Blob
	err := r.join(v, execution, &e.Content, &e.Blob)
	if err == nil && ref != nil && e.Blob == nil && ref.ID == perdure.ContentID(execution, ref.SHA256) {
		e.ExtractMetadata()
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
