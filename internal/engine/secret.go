package engine

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// sealingSecret is the name of the secret that seals contents which clients store.
const sealingSecret = "sealing"

// secretBytes is the size of a secret in bytes.
const secretBytes = 32

// secretCache caches the secret, which never changes.
type secretCache struct {
	mu    sync.Mutex // guards value
	value []byte
}

// SealingSecret returns the secret of the installation that seals contents which clients store. It
// is created at the first call. All servers of a store have the same secret.
func (e *Engine) SealingSecret(ctx context.Context) ([]byte, error) {
	e.secret.mu.Lock()
	known := e.secret.value
	e.secret.mu.Unlock()
	if known != nil {
		return known, nil
	}
	value, err := e.Store.Secret(ctx, sealingSecret)
	if perdure.IsCode(err, perdure.NotFound) {
		value, err = e.makeSecret(ctx)
	}
	if err != nil {
		return nil, err
	}
	e.secret.mu.Lock()
	e.secret.value = value
	e.secret.mu.Unlock()
	return value, nil
}

// makeSecret stores a new secret, and returns the stored one. If servers do so at the same time,
// the first secret is stored.
func (e *Engine) makeSecret(ctx context.Context) ([]byte, error) {
	value := make([]byte, secretBytes)
	rand.Read(value) // never fails
	_, err := e.one(ctx, store.Command{
		Name: "make secret", Lane: store.LaneCommits, Org: perdure.DefaultOrg,
		Decide: func(s *store.State) (*store.Changes, error) {
			return &store.Changes{Secret: &store.Secret{Name: sealingSecret, Value: value, CreatedAt: s.Now}, Answer: &decided{}}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return e.Store.Secret(ctx, sealingSecret)
}
