package front

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/store"
)

// ParseID parses an id in a path. A malformed id gets the same error as an unknown id.
func ParseID(what, text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return uuid.Nil, perdure.Errorf(perdure.NotFound, "there is no %s %q", what, text)
	}
	return id, nil
}

// Execution returns the execution that a path names. Its large contents are returned as references.
func (f *Front) Execution(ctx context.Context, org, text string) (*perdure.Execution, error) {
	id, err := ParseID("execution", text)
	if err != nil {
		return nil, err
	}
	return f.Engine.Read().Lazy().Execution(ctx, org, id)
}

// Detached returns the context of a stream that continues after the handler of its request has
// returned. The processor time of the stream is still charged to its org.
func Detached(request context.Context, execution uuid.UUID) context.Context {
	ctx := context.WithValue(context.Background(), callerKey{}, CallerOf(request))
	ctx = context.WithValue(ctx, executionKey{}, execution)
	return fair.Again(store.ForOrg(ctx, store.OrgOf(request)), request)
}
