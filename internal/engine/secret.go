package engine

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// sealingSecret is the secret that contents are sealed with which clients keep.
const sealingSecret = "sealing"

// secretBytes is the size of a secret.
const secretBytes = 32

// secretCache holds the secret once it is known: it never changes.
type secretCache struct {
	mu    sync.Mutex // guards value
	value []byte
}

// SealingSecret returns the secret of the installation by which contents are sealed
// that clients keep. It is made when it is first asked for, and is one for all servers
// of a store.
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

// makeSecret stores a new secret, and returns the one that was stored first.
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
