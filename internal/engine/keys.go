package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// keyTTL is how long a key is believed without a look at the store; a revoked
// one stops within it, everywhere.
const keyTTL = 2 * time.Second

// keyCache remembers keys that were looked up lately, and those that were not
// found, so that a flood of wrong keys costs no queries.
type keyCache struct {
	mu    sync.Mutex // guards known
	known map[perdure.Hash]cachedKey
}

type cachedKey struct {
	key   *perdure.APIKey
	until time.Time
}

// Authenticate gives the key that the secret is. Error: unauthenticated.
func (e *Engine) Authenticate(ctx context.Context, secret string) (*perdure.APIKey, error) {
	hash := perdure.Hash(sha256.Sum256([]byte(secret)))
	now := time.Now()
	e.keys.mu.Lock()
	cached, ok := e.keys.known[hash]
	e.keys.mu.Unlock()
	if !ok || now.After(cached.until) {
		key, err := e.Store.KeyByHash(ctx, hash)
		if err != nil && !perdure.IsCode(err, perdure.NotFound) {
			return nil, err
		}
		cached = cachedKey{key: key, until: now.Add(keyTTL)}
		if err != nil {
			cached.key = nil
		}
		e.keys.remember(hash, cached)
	}
	if cached.key == nil {
		return nil, perdure.Errorf(perdure.Unauthenticated, "the key is unknown or revoked")
	}
	return cached.key, nil
}

const maxCachedKeys = 10_000

func (c *keyCache) remember(hash perdure.Hash, k cachedKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCachedKeys {
		c.known = map[perdure.Hash]cachedKey{}
	}
	c.known[hash] = k
}

// CreateKey makes a key and gives its secret, which is not stored.
func (e *Engine) CreateKey(ctx context.Context, org, name string, role perdure.KeyRole) (*perdure.APIKey, string, error) {
	switch role {
	case perdure.KeyAdmin, perdure.KeyClient, perdure.KeyWorker:
	default:
		return nil, "", perdure.FieldErrorf("role", "%q is not one of admin, client, worker", role)
	}
	if name == "" || len(name) > maxName {
		return nil, "", perdure.FieldErrorf("name", "must have 1 to %d characters", maxName)
	}
	raw := make([]byte, 24)
	if _, err := rand.Read(raw); err != nil {
		return nil, "", &perdure.Error{Code: perdure.Internal, Message: "no randomness", Err: err}
	}
	secret := "prd_" + base64.RawURLEncoding.EncodeToString(raw)
	key := perdure.APIKey{ID: uuid.Must(uuid.NewV7()), Org: org, Name: name, Role: role, Hash: sha256.Sum256([]byte(secret))}
	_, err := e.one(ctx, store.Command{
		Name: "create key", Lane: store.LaneCommits, Org: org,
		Decide: func(s *store.State) (*store.Changes, error) {
			key.CreatedAt = s.Now
			row := key
			return &store.Changes{Key: &row, Answer: &decided{}}, nil
		},
	})
	return &key, secret, err
}

// RevokeKey ends a key. It stops within five seconds on every server.
func (e *Engine) RevokeKey(ctx context.Context, org string, id uuid.UUID) (*perdure.APIKey, error) {
	d, err := e.one(ctx, store.Command{
		Name: "revoke key", Lane: store.LaneCommits, Org: org,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{KeyID: &id} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Key == nil {
				return nil, perdure.Errorf(perdure.NotFound, "there is no key %s", id)
			}
			if s.Key.RevokedAt == nil {
				now := s.Now
				s.Key.RevokedAt = &now
			}
			return &store.Changes{Key: s.Key, Answer: &decided{value: s.Key}}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	key := d.value.(*perdure.APIKey)
	e.keys.remember(key.Hash, cachedKey{until: time.Now().Add(keyTTL)})
	return key, nil
}
