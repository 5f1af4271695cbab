package facetest

import (
	"context"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Brittle is a store for tests of errors. If a test sets Err, reads of executions and questions
// fail with that error.
type Brittle struct {
	store.Store
	Err atomic.Pointer[error]
}

// Lazy implements [store.Reader]. The returned reader fails in the same cases as the Brittle
// store.
func (b *Brittle) Lazy() store.Reader { return brittleReader{b.Store.Lazy(), b} }

// brittleReader is a lazy reader that fails in the same cases as its Brittle store.
type brittleReader struct {
	store.Reader
	b *Brittle
}

func (r brittleReader) Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error) {
	if err := r.b.Err.Load(); err != nil {
		return nil, *err
	}
	return r.Reader.Execution(ctx, org, id)
}

func (b *Brittle) Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error) {
	if err := b.Err.Load(); err != nil {
		return nil, *err
	}
	return b.Store.Execution(ctx, org, id)
}

// Question implements [store.QuestionReader].
func (b *Brittle) Question(ctx context.Context, org string, id uuid.UUID) (*perdure.Question, error) {
	if err := b.Err.Load(); err != nil {
		return nil, *err
	}
	return b.Store.Question(ctx, org, id)
}
