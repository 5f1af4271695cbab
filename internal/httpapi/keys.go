package httpapi

import (
	"context"
	"net/http"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
)

func (s *server) keyRoutes() {
	on(s, http.MethodPost, "/keys", "createKey", "Make a key; its secret is shown this once", s.createKey, status(201), adminOnly(s))
	get(s, "/keys", "listKeys", "List the keys, revoked ones too", s.listKeys, adminOnly(s))
	on(s, http.MethodPatch, "/keys/{id}", "setKeyLimits", "Change the limits of a key; it holds within 5 s on every server", s.setKeyLimits, adminOnly(s))
	on(s, http.MethodDelete, "/keys/{id}", "revokeKey", "Revoke a key; it stops within 5 s, open streams too", s.revokeKey, adminOnly(s))
}

type createKeyInput struct {
	OrgInput
	Body struct {
		Name   string            `json:"name" minLength:"1" maxLength:"200"`
		Role   perdure.KeyRole   `json:"role" enum:"admin,client,worker"`
		Limits perdure.KeyLimits `json:"limits,omitempty" doc:"What is left out, or 0, sets no limit."`
	}
}

type setKeyLimitsInput struct {
	IDInput
	Body struct {
		Limits limitChange `json:"limits"`
	}
}

// limitChange is a change of a key's limits; omitted members stay unchanged.
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

// newKey is a key with its secret.
type newKey struct {
	perdure.APIKey
	Key string `json:"key" doc:"The secret. It is not stored and not shown again."`
}

func (s *server) createKey(ctx context.Context, in *createKeyInput) (*body[newKey], error) {
	key, secret, err := s.Engine.NewKey(ctx, in.Org, engine.KeyRequest{Name: in.Body.Name, Role: in.Body.Role, Limits: in.Body.Limits})
	if err != nil {
		return nil, err
	}
	return &body[newKey]{newKey{*key, secret}}, nil
}

func (s *server) listKeys(ctx context.Context, in *OrgInput) (*body[list[*perdure.APIKey]], error) {
	keys, err := s.Engine.Read().Keys(ctx, in.Org)
	if err != nil {
		return nil, err
	}
	return listOf(keys, ""), nil
}

func (s *server) setKeyLimits(ctx context.Context, in *setKeyLimitsInput) (*body[*perdure.APIKey], error) {
	id, err := in.of("key")
	if err != nil {
		return nil, err
	}
	key, err := s.Engine.SetKeyLimits(ctx, in.Org, id, in.Body.Limits.apply)
	if err != nil {
		return nil, err
	}
	return &body[*perdure.APIKey]{key}, nil
}

func (s *server) revokeKey(ctx context.Context, in *IDInput) (*body[*perdure.APIKey], error) {
	id, err := in.of("key")
	if err != nil {
		return nil, err
	}
	key, err := s.Engine.RevokeKey(ctx, in.Org, id)
	if err != nil {
		return nil, err
	}
	return &body[*perdure.APIKey]{key}, nil
}
