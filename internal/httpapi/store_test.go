package httpapi_test

import (
	"context"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// brittle is a store whose reads of executions can be made to fail.
type brittle struct {
	store.Store
	err atomic.Pointer[error]
}

// Lazy implements [store.Reader].
func (b *brittle) Lazy() store.Reader { return brittleRefs{b.Store.Lazy(), b} }

// brittleRefs is a lazy reader that fails when its store does.
type brittleRefs struct {
	store.Reader
	b *brittle
}

func (r brittleRefs) Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error) {
	if err := r.b.err.Load(); err != nil {
		return nil, *err
	}
	return r.Reader.Execution(ctx, org, id)
}

func (b *brittle) Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error) {
	if err := b.err.Load(); err != nil {
		return nil, *err
	}
	return b.Store.Execution(ctx, org, id)
}
