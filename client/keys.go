package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// NewKey is a key with its secret, which is shown this once.
type NewKey struct {
	perdure.APIKey
	Key string `json:"key"`
}

// CreateKey makes a key. Only an admin may. Errors: invalid_argument,
// permission_denied.
func (c *Client) CreateKey(ctx context.Context, name string, role perdure.KeyRole) (*NewKey, error) {
	var made NewKey
	body := map[string]any{"name": name, "role": role}
	if err := c.call(ctx, request{method: http.MethodPost, path: []string{"keys"}, body: body}, &made); err != nil {
		return nil, err
	}
	return &made, nil
}

// Keys gives all keys, revoked ones too, without their secrets. Only an admin
// may. Error: permission_denied.
func (c *Client) Keys(ctx context.Context) iter.Seq2[*perdure.APIKey, error] {
	return pages(func(o PageOptions) (Page[*perdure.APIKey], error) {
		return page[*perdure.APIKey](ctx, c, o.query(), "keys")
	})
}

// RevokeKey ends a key; it stops within 5 s, open streams too. Errors:
// not_found, permission_denied.
func (c *Client) RevokeKey(ctx context.Context, id uuid.UUID) (*perdure.APIKey, error) {
	var key perdure.APIKey
	if err := c.call(ctx, request{method: http.MethodDelete, path: []string{"keys", id.String()}}, &key); err != nil {
		return nil, err
	}
	return &key, nil
}
