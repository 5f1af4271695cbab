package kinds

import (
	"context"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/lru"
)

// executionKinds caches the kind of each execution, which never changes.
type executionKinds struct {
	mu   sync.Mutex
	kind lru.Map[executionOfOrg, string]
}

type executionOfOrg struct {
	org       string
	execution uuid.UUID
}

// maxExecutionKinds is the maximum number of executions in an executionKinds.
const maxExecutionKinds = 10_000

func (k *Kinds) of(ctx context.Context, org string, execution uuid.UUID) (string, error) {
	c, key := &k.ofExecutions, executionOfOrg{org, execution}
	c.mu.Lock()
	kind := c.kind.Get(key)
	c.mu.Unlock()
	if kind != "" {
		return kind, nil
	}
	x, err := k.refs.Execution(ctx, org, execution)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kind.Put(key, x.Kind)
	for c.kind.Len() > maxExecutionKinds {
		c.kind.RemoveOldest()
	}
	return x.Kind, nil
}
