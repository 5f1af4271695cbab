package tenants

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// keyTTL is how long a cached API key is used without reading the store. A server uses a revoked
// key for at most this time.
const keyTTL = 2 * time.Second

// Authenticate returns the API key with this secret. Errors: unauthenticated; permission_denied if
// the key's org is disabled.
func (t *Tenants) Authenticate(ctx context.Context, secret string) (*perdure.APIKey, error) {
	return t.KeyOf(ctx, sha256.Sum256([]byte(secret)))
}

// KeyOf returns the API key whose secret has the hash. Errors: unauthenticated; permission_denied
// if the key's org is disabled.
func (t *Tenants) KeyOf(ctx context.Context, hash perdure.Hash) (*perdure.APIKey, error) {
	now := time.Now()
	key, ok := t.keys.get(hash, now)
	if !ok {
		var err error
		if key, err = t.store.KeyByHash(ctx, hash); err != nil && !perdure.IsCode(err, perdure.NotFound) {
			return nil, err
		}
		t.keys.remember(hash, key, now.Add(keyTTL))
	}
	if key == nil {
		return nil, perdure.Errorf(perdure.Unauthenticated, "the key is unknown or revoked")
	}
	if err := t.OrgWorks(ctx, key.Org); err != nil {
		return nil, err
	}
	return key, nil
}

// KeyRequest is a request to create an API key.
type KeyRequest struct {
	Name   string
	Role   perdure.KeyRole
	Limits perdure.KeyLimits
}

// CreateKey creates an API key without limits and returns it with its secret, which is not stored.
// Error: invalid_argument.
func (t *Tenants) CreateKey(ctx context.Context, org, name string, role perdure.KeyRole) (*perdure.APIKey, string, error) {
	return t.NewKey(ctx, org, KeyRequest{Name: name, Role: role})
}

// NewKey creates an API key and returns it with its secret, which is not stored. Error:
// invalid_argument.
func (t *Tenants) NewKey(ctx context.Context, org string, r KeyRequest) (*perdure.APIKey, string, error) {
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
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: org, Action: perdure.AuditKeyCreated}
	value, err := t.one(ctx, store.Command{
		Name: "create key", Lane: store.LaneCommits, Org: org,
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.CreateKey(s, by, key) },
	})
	if err != nil {
		return nil, "", err
	}
	return value.(*perdure.APIKey), secret, nil
}

// reservedNames are names that an API key must not have. Logs show them for actions without a key:
// with the token of the data directory, inside a server, by a default at the expiry of a question,
// and by a grant.
var reservedNames = []string{"token", "process", "expiry", "grant"}

func checkKey(r KeyRequest) error {
	switch r.Role {
	case perdure.KeyAdmin, perdure.KeyClient, perdure.KeyWorker, perdure.KeyApprover:
	default:
		return perdure.FieldErrorf("role", "%q is not one of admin, client, worker, approver", r.Role)
	}
	if err := perdure.CheckText("name", r.Name); err != nil {
		return err
	}
	if r.Name == "" || len(r.Name) > validate.MaxName {
		return perdure.FieldErrorf("name", "must have 1 to %d characters", validate.MaxName)
	}
	if slices.ContainsFunc(reservedNames, func(name string) bool { return strings.EqualFold(name, strings.TrimSpace(r.Name)) }) {
		return perdure.FieldErrorf("name", "%q is reserved: decisions and the audit log name those so who act without a key", r.Name)
	}
	return r.Limits.Check()
}

// SetKeyLimits changes the limits of an API key. The new limits apply on every server within five
// seconds. Errors: invalid_argument, not_found, conflict (revoked).
func (t *Tenants) SetKeyLimits(ctx context.Context, org string, id uuid.UUID, change func(*perdure.KeyLimits)) (*perdure.APIKey, error) {
	key, err := t.changeKey(ctx, org, id, perdure.AuditKeyChanged, func(_ perdure.Time, k *perdure.APIKey) error {
		if k.RevokedAt != nil {
			return perdure.Errorf(perdure.Conflict, "the key %s is revoked", id)
		}
		change(&k.Limits)
		return k.Limits.Check()
	})
	if err != nil {
		return nil, err
	}
	t.keys.remember(key.Hash, key, time.Now().Add(keyTTL))
	return key, nil
}

// RevokeKey revokes an API key. Every server refuses the key within five seconds. Error: not_found.
func (t *Tenants) RevokeKey(ctx context.Context, org string, id uuid.UUID) (*perdure.APIKey, error) {
	key, err := t.changeKey(ctx, org, id, perdure.AuditKeyRevoked, func(now perdure.Time, k *perdure.APIKey) error {
		if k.RevokedAt == nil {
			k.RevokedAt = &now
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.keys.remember(key.Hash, nil, time.Now().Add(keyTTL))
	return key, nil
}

// changeKey applies the function `change` to the row of an API key. If the row differs afterwards,
// changeKey stores it with an audit record. Errors: not_found, and those of `change`.
func (t *Tenants) changeKey(ctx context.Context, org string, id uuid.UUID, action perdure.AuditAction, change func(now perdure.Time, k *perdure.APIKey) error) (*perdure.APIKey, error) {
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: org, Action: action}
	value, err := t.one(ctx, store.Command{
		Name: string(action), Lane: store.LaneCommits, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{KeyID: &id} },
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.ChangeKey(s, by, id, change) },
	})
	if err != nil {
		return nil, err
	}
	return value.(*perdure.APIKey), nil
}
