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
	// BlobRow returns the row of a complete or incomplete blob, without its digest. Errors:
	// not_found if there is no such blob.
	BlobRow(ctx context.Context, execution, id uuid.UUID) (*Blob, error)
	// BlobOf returns the row of a complete blob whose content has the SHA-256 sum and to which a row
	// of the execution refers. Errors: not_found if there is no such blob.
	BlobOf(ctx context.Context, execution uuid.UUID, sum perdure.Hash) (*Blob, error)
}
