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

// keyTTL is how long a cached key is used without reading the store. A revoked key is refused on
// every server after this time.
const keyTTL = 2 * time.Second

// keyCache caches keys that were looked up lately, and hashes that were not found, so that many
// requests with wrong keys cause few queries.
type keyCache struct {
	mu      sync.Mutex // guards the fields below
	known   map[perdure.Hash]cachedKey
	buckets map[uuid.UUID]*bucket
}

type cachedKey struct {
	key   *perdure.APIKey
	until time.Time
}

// Authenticate returns the key with this secret. Errors: unauthenticated; permission_denied if the
// key's org is disabled.
func (e *Engine) Authenticate(ctx context.Context, secret string) (*perdure.APIKey, error) {
	return e.KeyOf(ctx, sha256.Sum256([]byte(secret)))
}

// KeyOf returns the key whose secret has the hash. Errors: unauthenticated; permission_denied if
// the key's org is disabled.
func (e *Engine) KeyOf(ctx context.Context, hash perdure.Hash) (*perdure.APIKey, error) {
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
	if err := e.OrgWorks(ctx, cached.key.Org); err != nil {
		return nil, err
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

// KeyRequest is a request to create a key.
type KeyRequest struct {
	Name   string
	Role   perdure.KeyRole
	Limits perdure.KeyLimits
}

// CreateKey creates a key without limits and returns it with its secret, which is not stored.
// Error: invalid_argument.
func (e *Engine) CreateKey(ctx context.Context, org, name string, role perdure.KeyRole) (*perdure.APIKey, string, error) {
	return e.NewKey(ctx, org, KeyRequest{Name: name, Role: role})
}

// NewKey creates a key and returns it with its secret, which is not stored. Error:
// invalid_argument.
func (e *Engine) NewKey(ctx context.Context, org string, r KeyRequest) (*perdure.APIKey, string, error) {
	if err := checkKey(r); err != nil {
		return nil, "", err
	}
	if err := perdure.CheckText("org", org); err != nil {
		return nil, "", err
	}
	raw := make([]byte, 24)
	if _, err := rand.Read(raw); err != nil {
		return nil, "", &perdure.Error{Code: perdure.Internal, Message: "no randomness", Err: err}
	}
	secret := "prd_" + base64.RawURLEncoding.EncodeToString(raw)
	key := perdure.APIKey{ID: uuid.Must(uuid.NewV7()), Org: org, Name: r.Name, Role: r.Role, Limits: r.Limits, Hash: sha256.Sum256([]byte(secret))}
	by := changed{actor: store.ActorOf(ctx), org: org, action: perdure.AuditKeyCreated}
	_, err := e.one(ctx, store.Command{
		Name: "create key", Lane: store.LaneCommits, Org: org,
		Decide: func(s *store.State) (*store.Changes, error) {
			key.CreatedAt = s.Now
			row := key
			return &store.Changes{Key: &row, Audit: by.key(s.Now, nil, &row), Answer: &decided{}}, nil
		},
	})
	return &key, secret, err
}

func checkKey(r KeyRequest) error {
	switch r.Role {
	case perdure.KeyAdmin, perdure.KeyClient, perdure.KeyWorker:
	default:
		return perdure.FieldErrorf("role", "%q is not one of admin, client, worker", r.Role)
	}
	if err := perdure.CheckText("name", r.Name); err != nil {
		return err
	}
	if r.Name == "" || len(r.Name) > maxName {
		return perdure.FieldErrorf("name", "must have 1 to %d characters", maxName)
	}
	return r.Limits.Check()
}

// SetKeyLimits changes the limits of a key. They apply on every server within five seconds. Errors:
// invalid_argument, not_found, conflict (revoked).
func (e *Engine) SetKeyLimits(ctx context.Context, org string, id uuid.UUID, change func(*perdure.KeyLimits)) (*perdure.APIKey, error) {
	key, err := e.changeKey(ctx, org, id, perdure.AuditKeyChanged, func(_ perdure.Time, k *perdure.APIKey) error {
		if k.RevokedAt != nil {
			return perdure.Errorf(perdure.Conflict, "the key %s is revoked", id)
		}
		change(&k.Limits)
		return k.Limits.Check()
	})
	if err != nil {
		return nil, err
	}
	e.keys.remember(key.Hash, cachedKey{key: key, until: time.Now().Add(keyTTL)})
	return key, nil
}

// RevokeKey revokes a key. It is refused on every server within five seconds. Error: not_found.
func (e *Engine) RevokeKey(ctx context.Context, org string, id uuid.UUID) (*perdure.APIKey, error) {
	key, err := e.changeKey(ctx, org, id, perdure.AuditKeyRevoked, func(now perdure.Time, k *perdure.APIKey) error {
		if k.RevokedAt == nil {
			k.RevokedAt = &now
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	e.keys.remember(key.Hash, cachedKey{until: time.Now().Add(keyTTL)})
	return key, nil
}

// changeKey changes a key's row. It writes the row and an audit record if anything differs. Error:
// not_found.
func (e *Engine) changeKey(ctx context.Context, org string, id uuid.UUID, action perdure.AuditAction, change func(now perdure.Time, k *perdure.APIKey) error) (*perdure.APIKey, error) {
	by := changed{actor: store.ActorOf(ctx), org: org, action: action}
	d, err := e.one(ctx, store.Command{
		Name: string(action), Lane: store.LaneCommits, Org: org,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{KeyID: &id} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Key == nil {
				return nil, perdure.Errorf(perdure.NotFound, "there is no key %s", id)
			}
			before := *s.Key
			if err := change(s.Now, s.Key); err != nil {
				return nil, err
			}
			answer := &decided{value: s.Key}
			if before == *s.Key {
				return &store.Changes{Answer: answer}, nil
			}
			return &store.Changes{Key: s.Key, Audit: by.key(s.Now, &before, s.Key), Answer: answer}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return d.value.(*perdure.APIKey), nil
}
