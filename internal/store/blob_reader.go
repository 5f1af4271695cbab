package store

import (
	"context"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// BlobReader reads contents that are stored in blobs.
type BlobReader interface {
	// Blob reads a blob in pieces.
	Blob(ctx context.Context, execution, id uuid.UUID) (io.ReadCloser, error)
	// BlobRow returns a blob's row without its digest, complete or not. Errors: not_found if there
	// is none.
	BlobRow(ctx context.Context, execution, id uuid.UUID) (*Blob, error)
	// BlobOf returns the row of a complete blob with that content that a row of the execution
	// refers to. Errors: not_found if there is none.
	BlobOf(ctx context.Context, execution uuid.UUID, sum perdure.Hash) (*Blob, error)
}
