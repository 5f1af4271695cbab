package tenants

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
)

// sealingSecret is the name of the installation's secret, which encrypts data that clients store
// for the server.
const sealingSecret = "sealing"

// secretBytes is the size of a secret in bytes.
const secretBytes = 32

// secretCache caches the sealing secret, which never changes.
type secretCache struct {
	mu    sync.Mutex // guards value
	value []byte
}

// SealingSecret returns the secret of the installation, which encrypts data that clients store for
// the server. The first call creates the secret, and all servers of a store get the same one.
func (t *Tenants) SealingSecret(ctx context.Context) ([]byte, error) {
	t.secret.mu.Lock()
	known := t.secret.value
	t.secret.mu.Unlock()
	if known != nil {
		return known, nil
	}
	value, err := t.store.Secret(ctx, sealingSecret)
	if perdure.IsCode(err, perdure.NotFound) {
		value, err = t.makeSecret(ctx)
	}
	if err != nil {
		return nil, err
	}
	t.secret.mu.Lock()
	t.secret.value = value
	t.secret.mu.Unlock()
	return value, nil
}

// makeSecret stores a new secret, unless another server has stored one in the meantime. It returns
// the secret that the store has.
func (t *Tenants) makeSecret(ctx context.Context) ([]byte, error) {
	value := make([]byte, secretBytes)
	rand.Read(value) // never fails
	_, err := t.one(ctx, store.Command{
		Name: "make secret", Lane: store.LaneCommits, Org: perdure.DefaultOrg,
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.CreateSecret(s, sealingSecret, value) },
	})
	if err != nil {
		return nil, err
	}
	return t.store.Secret(ctx, sealingSecret)
}
