package rest

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// reader is the part of the store that the operations read.
type reader interface {
	store.ExecutionReader
	store.CatalogReader
	store.WebhookReader
	LogHead(ctx context.Context, execution uuid.UUID) (store.Head, error)
	Keys(ctx context.Context, org string) ([]*perdure.APIKey, error)
	AuditLog(ctx context.Context, org, cursor string, limit int) (store.Page[perdure.AuditRecord], error)
}

// read returns a reader that leaves contents that are stored in blobs where they are; small ones are
// loaded when they are shown. The server never loads a large content whole.
func (s *server) read() reader { return s.Engine.Read().Lazy() }

// readWhole returns a reader that loads contents.
func (s *server) readWhole() reader { return s.Engine.Read() }
