// Package uploads stores contents that arrive before the request that refers to them. It also
// checks the contents of requests. The same rules apply to inline and uploaded contents.
package uploads

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Uploads stores and checks contents. [New] creates one.
type Uploads struct {
	store store.BlobReader
	refs  executionReader // returns references to contents instead of the contents
	// one runs a command on the store, and returns the command's result (rules.Decision.Value).
	one   func(context.Context, store.Command) (any, error)
	limit int64 // maximum size of a payload in bytes
	plain bool
	cache uploadCache
	large *largeTurns
}

// executionReader is the part of [store.ExecutionReader] that Uploads uses.
type executionReader interface {
	Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error)
}

// Config configures an [Uploads]. All fields but Plain are required.
type Config struct {
	Store store.BlobReader
	// Refs reads executions. It returns large contents as references.
	Refs executionReader
	// One runs a command on the store, and returns the command's result (rules.Decision.Value).
	One func(context.Context, store.Command) (any, error)
	// PayloadLimit is the maximum size of one payload in bytes.
	PayloadLimit int64
	// Plain disables the check of contents during their upload. A commit then reads each content to
	// which it refers.
	Plain bool
}

// New creates an Uploads.
func New(c Config) *Uploads {
	return &Uploads{store: c.Store, refs: c.Refs, one: c.One, limit: c.PayloadLimit, plain: c.Plain, large: newLargeTurns()}
}
