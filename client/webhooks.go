package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// NewWebhook is a webhook together with its signing secret. The server returns the secret only once.
// Secret is "" if the call has created no new secret.
type NewWebhook struct {
	perdure.Webhook
	Secret string `json:"secret,omitempty"`
}

// WebhookSettings are the settings of a webhook that an org chooses. Without Events, the webhook
// receives all events whose type begins with "agent.". A nil Enabled enables a new webhook, and
// does not change an existing one.
type WebhookSettings struct {
	URL         string   `json:"url"`
	Events      []string `json:"events,omitempty"`
	Description string   `json:"description,omitempty"`
	Enabled     *bool    `json:"enabled,omitempty"`
	// KeyID is an API key that may answer questions; nil for none. With it, deliveries of the event
	// question.asked contain a link to answer with that key.
	KeyID *uuid.UUID `json:"keyId,omitempty"`
}

// CreateWebhook creates a webhook. Like all calls for webhooks, it requires the role admin. Errors:
// invalid_argument, conflict (the org has the maximum number of webhooks), permission_denied.
func (c *Client) CreateWebhook(ctx context.Context, s WebhookSettings) (*NewWebhook, error) {
	var made NewWebhook
	err := c.call(ctx, request{method: http.MethodPost, path: []string{"webhooks"}, body: s}, &made)
	return orNil(&made, err)
}

// Webhooks returns the webhooks of the org. Errors: permission_denied.
func (c *Client) Webhooks(ctx context.Context) iter.Seq2[*perdure.Webhook, error] {
	return pages(func(o PageOptions) (Page[*perdure.Webhook], error) {
		return page[*perdure.Webhook](ctx, c, o.query(), "webhooks")
	})
}

// Webhook returns a webhook. Errors: not_found, permission_denied.
func (c *Client) Webhook(ctx context.Context, id uuid.UUID) (*perdure.Webhook, error) {
	return get[perdure.Webhook](ctx, c, url.Values{}, "webhooks", id.String())
}

// SetWebhook replaces the settings of a webhook. Errors: invalid_argument, not_found,
// permission_denied.
func (c *Client) SetWebhook(ctx context.Context, id uuid.UUID, s WebhookSettings) (*perdure.Webhook, error) {
	var w perdure.Webhook
	err := c.call(ctx, request{method: http.MethodPut, path: []string{"webhooks", id.String()}, body: s}, &w)
	return orNil(&w, err)
}

// DeleteWebhook deletes a webhook and its deliveries. Errors: not_found, permission_denied.
func (c *Client) DeleteWebhook(ctx context.Context, id uuid.UUID) error {
	return c.call(ctx, request{method: http.MethodDelete, path: []string{"webhooks", id.String()}}, nil)
}

// RotateWebhook replaces the signing secret of a webhook. For 24 hours, the server signs deliveries
// with both the new and the old secret. If `dropOld` is true, RotateWebhook creates no new secret.
// Instead, the server immediately stops signing with the secret that the last rotation replaced.
// Errors: not_found, permission_denied.
func (c *Client) RotateWebhook(ctx context.Context, id uuid.UUID, dropOld bool) (*NewWebhook, error) {
	var w NewWebhook
	err := c.call(ctx, request{method: http.MethodPost, path: []string{"webhooks", id.String(), "rotate"}, body: map[string]bool{"dropOld": dropOld}}, &w)
	return orNil(&w, err)
}

// TestWebhook sends an event of type webhook.test to a webhook. Errors: not_found, conflict (the
// webhook is disabled), permission_denied.
func (c *Client) TestWebhook(ctx context.Context, id uuid.UUID) (*perdure.Delivery, error) {
	var d perdure.Delivery
	err := c.call(ctx, request{method: http.MethodPost, path: []string{"webhooks", id.String(), "test"}}, &d)
	return orNil(&d, err)
}

// Deliveries returns the deliveries of a webhook, newest first, without their payloads. It returns only
// those with the given status; "" stands for all. Errors: not_found, permission_denied.
func (c *Client) Deliveries(ctx context.Context, webhook uuid.UUID, status perdure.DeliveryStatus) iter.Seq2[*perdure.Delivery, error] {
	return pages(func(o PageOptions) (Page[*perdure.Delivery], error) {
		q := o.query()
		if status != "" {
			q.Set("status", string(status))
		}
		return page[*perdure.Delivery](ctx, c, q, "webhooks", webhook.String(), "deliveries")
	})
}

// Delivery returns a delivery. Errors: not_found, permission_denied.
func (c *Client) Delivery(ctx context.Context, webhook, id uuid.UUID) (*perdure.Delivery, error) {
	return get[perdure.Delivery](ctx, c, url.Values{}, "webhooks", webhook.String(), "deliveries", id.String())
}

// ResendDelivery sends a delivery again, with a new series of attempts. Errors: not_found, conflict
// (the webhook is disabled), permission_denied.
func (c *Client) ResendDelivery(ctx context.Context, webhook, id uuid.UUID) (*perdure.Delivery, error) {
	var d perdure.Delivery
	err := c.call(ctx, request{method: http.MethodPost, path: []string{"webhooks", webhook.String(), "deliveries", id.String(), "resend"}}, &d)
	return orNil(&d, err)
}

// orNil returns value if err is nil. Otherwise it returns nil and err.
func orNil[T any](value *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return value, nil
}
