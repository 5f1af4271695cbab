package httpapi

import (
	"context"
	"net/http"

	"github.com/perdure/perdure"
)

func (s *server) keyRoutes() {
	on(s, http.MethodPost, "/keys", "createKey", "Make a key; its secret is shown this once", s.createKey, status(201), adminOnly(s))
	get(s, "/keys", "listKeys", "List the keys, revoked ones too", s.listKeys, adminOnly(s))
	on(s, http.MethodDelete, "/keys/{id}", "revokeKey", "Revoke a key; it stops within 5 s, open streams too", s.revokeKey, adminOnly(s))
}

type createKeyInput struct {
	OrgInput
	Body struct {
		Name string          `json:"name" minLength:"1" maxLength:"200"`
		Role perdure.KeyRole `json:"role" enum:"admin,client,worker"`
	}
}

// newKey is a key with its secret.
type newKey struct {
	perdure.APIKey
	Key string `json:"key" doc:"The secret. It is not stored and not shown again."`
}

func (s *server) createKey(ctx context.Context, in *createKeyInput) (*body[newKey], error) {
	key, secret, err := s.Engine.CreateKey(ctx, in.Org, in.Body.Name, in.Body.Role)
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
