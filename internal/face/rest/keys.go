package rest

import (
	"context"
	"net/http"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/face/operation"
)

func (s *server) keyRoutes() {
	g := operation.Group{API: s.API, Tag: "Keys"}
	operation.On(g, http.MethodPost, "/keys", "createKey", "Make a key; its secret is shown this once", s.createKey, operation.Status(201), operation.AdminOnly)
	operation.Get(g, "/keys", "listKeys", "List the keys, revoked ones too", s.listKeys, operation.AdminOnly)
	operation.On(g, http.MethodPatch, "/keys/{id}", "setKeyLimits", "Change the limits of a key; it holds within 5 s on every server", s.setKeyLimits, operation.AdminOnly)
	operation.On(g, http.MethodDelete, "/keys/{id}", "revokeKey", "Revoke a key; it stops within 5 s, open streams too", s.revokeKey, operation.AdminOnly)
}

type createKeyInput struct {
	operation.OrgInput
	Body struct {
		Name   string            `json:"name" minLength:"1" maxLength:"200"`
		Role   perdure.KeyRole   `json:"role" enum:"admin,client,worker,approver"`
		Limits perdure.KeyLimits `json:"limits,omitempty" doc:"What is left out, or 0, sets no limit."`
	}
}

type setKeyLimitsInput struct {
	operation.IDInput
	Body struct {
		Limits limitChange `json:"limits"`
	}
}

// limitChange is a change of a key's limits. Limits that the client omits stay unchanged.
type limitChange struct {
	RequestsPerSecond *int64 `json:"requestsPerSecond,omitempty" minimum:"0" doc:"0 for no limit; left out, it stays."`
	MaxRunning        *int64 `json:"maxRunning,omitempty" minimum:"0" doc:"0 for no limit; left out, it stays."`
	MaxStored         *int64 `json:"maxStoredBytes,omitempty" minimum:"0" doc:"0 for no limit; left out, it stays."`
}

func (c limitChange) apply(l *perdure.KeyLimits) {
	for to, from := range map[*int64]*int64{&l.RequestsPerSecond: c.RequestsPerSecond, &l.MaxRunning: c.MaxRunning, &l.MaxStored: c.MaxStored} {
		if from != nil {
			*to = *from
		}
	}
}

// newKey is a key that was just created, with its secret.
type newKey struct {
	perdure.APIKey
	Key string `json:"key" doc:"The secret. It is not stored and not shown again."`
}

func (s *server) createKey(ctx context.Context, in *createKeyInput) (*operation.Body[newKey], error) {
	key, secret, err := s.Engine.NewKey(ctx, in.Org, tenants.KeyRequest{Name: in.Body.Name, Role: in.Body.Role, Limits: in.Body.Limits})
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(newKey{*key, secret}), nil
}

func (s *server) listKeys(ctx context.Context, in *operation.OrgInput) (*operation.Body[operation.List[*perdure.APIKey]], error) {
	keys, err := s.readWhole().Keys(ctx, in.Org)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(keys, ""), nil
}

func (s *server) setKeyLimits(ctx context.Context, in *setKeyLimitsInput) (*operation.Body[*perdure.APIKey], error) {
	id, err := in.Of("key")
	if err != nil {
		return nil, err
	}
	key, err := s.Engine.SetKeyLimits(ctx, in.Org, id, in.Body.Limits.apply)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(key), nil
}

func (s *server) revokeKey(ctx context.Context, in *operation.IDInput) (*operation.Body[*perdure.APIKey], error) {
	id, err := in.Of("key")
	if err != nil {
		return nil, err
	}
	key, err := s.Engine.RevokeKey(ctx, in.Org, id)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(key), nil
}
