package rest

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// reader is the part of the store that the operations of this package read.
type reader interface {
	store.ExecutionReader
	store.CatalogReader
	store.WebhookReader
	LogHead(ctx context.Context, execution uuid.UUID) (store.Head, error)
	Keys(ctx context.Context, org string) ([]*perdure.APIKey, error)
	AuditLog(ctx context.Context, org, cursor string, limit int) (store.Page[perdure.AuditRecord], error)
}

// read returns a reader that does not load contents that are stored in blobs. The operations load
// such a content when they return it: a small one as a whole, a large one in pieces.
func (s *server) read() reader { return s.Engine.Read().Lazy() }

// readWhole returns a reader that also loads contents that are stored in blobs.
func (s *server) readWhole() reader { return s.Engine.Read() }
