package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	grpcapi "github.com/perdure/perdure/internal/face/grpc"
	"github.com/perdure/perdure/internal/store"
)

// access authenticates bearer tokens: the token of the data directory, and the secrets of stored API
// keys.
type access struct {
	engine *engine.Engine
	token  string
}

// KeyOf implements front.Authenticator.
func (a access) KeyOf(ctx context.Context, secret perdure.Hash) (*perdure.APIKey, error) {
	token := sha256.Sum256([]byte(a.token))
	if a.token != "" && subtle.ConstantTimeCompare(secret[:], token[:]) == 1 {
		return &perdure.APIKey{Org: DevOrg, Role: perdure.KeyAdmin, Name: "token", Operator: true}, nil
	}
	return a.engine.KeyOf(ctx, secret)
}

// workers implements grpcapi.Authenticator with the methods of access.
type workers struct{ access }

// Authenticate implements grpcapi.Authenticator. A stored key belongs to one org; the data
// directory's token works for the org that the call names.
func (w workers) Authenticate(ctx context.Context, bearer string) (grpcapi.Principal, error) {
	key, err := w.KeyOf(ctx, sha256.Sum256([]byte(bearer)))
	if err != nil {
		return grpcapi.Principal{}, err
	}
	who := grpcapi.Principal{Org: key.Org, Role: key.Role, Key: key}
	named := grpcapi.OrgOf(ctx)
	switch {
	case !key.Operator && named != "" && named != key.Org:
		return who, perdure.Errorf(perdure.PermissionDenied, "the key is not one of the org %q", named)
	case !key.Operator:
		return who, nil
	case named != "" && named != key.Org:
		if _, err := w.engine.Org(ctx, named); err != nil {
			return who, err
		}
		who.Org = named
	}
	return who, w.engine.OrgWorks(ctx, who.Org)
}

// Request implements grpcapi.Limiter.
func (w workers) Request(key *perdure.APIKey) error { return w.engine.Request(key) }

// backend implements grpcapi.Backend on the engine.
type backend struct{ engine *engine.Engine }

// Dispatch implements grpcapi.Backend.
func (b backend) Dispatch(org string) perdure.Dispatch { return b.engine.Remote(org) }

// Signal implements grpcapi.Backend.
func (b backend) Signal(ctx context.Context, org string, execution uuid.UUID, name string, value perdure.Payload, id string) (string, perdure.Status, error) {
	ctx = store.ForOrg(ctx, org)
	r := engine.SignalRequest{Name: name, Value: value.Bytes, ID: id}
	if value.Blob != nil {
		r.Ref = &value.Blob.ID
	}
	reply, err := b.engine.Signal(ctx, org, execution, r)
	return reply.SignalID, reply.Status, err
}

// LatestCheckpoint implements grpcapi.Backend.
func (b backend) LatestCheckpoint(ctx context.Context, org string, execution uuid.UUID) (*perdure.Checkpoint, error) {
	ctx = store.ForOrg(ctx, org)
	read := b.engine.Read().Lazy()
	if _, err := read.Execution(ctx, org, execution); err != nil {
		return nil, err
	}
	return read.Checkpoint(ctx, execution, 0)
}
