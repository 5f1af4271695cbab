package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// NewKey is a new API key with its secret. The server returns the secret only once.
type NewKey struct {
	perdure.APIKey
	Key string `json:"key"`
}

// KeyRequest requests a new API key.
type KeyRequest struct {
	Name   string            `json:"name"`
	Role   perdure.KeyRole   `json:"role"`
	Limits perdure.KeyLimits `json:"limits,omitzero"`
}

// CreateKey creates an API key without limits. It requires the role admin. Errors: invalid_argument,
// permission_denied.
func (c *Client) CreateKey(ctx context.Context, name string, role perdure.KeyRole) (*NewKey, error) {
	return c.NewKey(ctx, KeyRequest{Name: name, Role: role})
}

// NewKey creates an API key. It requires the role admin. Errors: invalid_argument, permission_denied.
func (c *Client) NewKey(ctx context.Context, r KeyRequest) (*NewKey, error) {
	var made NewKey
	body := r
	if err := c.call(ctx, request{method: http.MethodPost, path: []string{"keys"}, body: body}, &made); err != nil {
		return nil, err
	}
	return &made, nil
}

// Keys returns all API keys of the org, including revoked ones, without their secrets. It requires the
// role admin. Errors: permission_denied.
func (c *Client) Keys(ctx context.Context) iter.Seq2[*perdure.APIKey, error] {
	return pages(func(o PageOptions) (Page[*perdure.APIKey], error) {
		return page[*perdure.APIKey](ctx, c, o.query(), "keys")
	})
}

// KeyChange changes the limits of an API key. A nil field leaves a limit unchanged; 0 removes the
// limit.
type KeyChange struct {
	RequestsPerSecond *int64 `json:"requestsPerSecond,omitempty"`
	MaxRunning        *int64 `json:"maxRunning,omitempty"`
	MaxStored         *int64 `json:"maxStoredBytes,omitempty"`
}

// SetKeyLimits changes the limits of an API key. The change takes effect within 5 s. Errors:
// invalid_argument, not_found, conflict (the key is revoked), permission_denied.
func (c *Client) SetKeyLimits(ctx context.Context, id uuid.UUID, change KeyChange) (*perdure.APIKey, error) {
	var key perdure.APIKey
	body := map[string]any{"limits": change}
	if err := c.call(ctx, request{method: http.MethodPatch, path: []string{"keys", id.String()}, body: body}, &key); err != nil {
		return nil, err
	}
	return &key, nil
}

// Audit returns the org's audit log, newest first. It requires the role admin. Errors:
// permission_denied.
func (c *Client) Audit(ctx context.Context) iter.Seq2[perdure.AuditRecord, error] {
	return pages(func(o PageOptions) (Page[perdure.AuditRecord], error) {
		return page[perdure.AuditRecord](ctx, c, o.query(), "audit")
	})
}

// RevokeKey revokes an API key. Within 5 s, the server refuses requests with the key and ends the
// open streams of the key. Errors: not_found, permission_denied.
func (c *Client) RevokeKey(ctx context.Context, id uuid.UUID) (*perdure.APIKey, error) {
	var key perdure.APIKey
	if err := c.call(ctx, request{method: http.MethodDelete, path: []string{"keys", id.String()}}, &key); err != nil {
		return nil, err
	}
	return &key, nil
}
