package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// DeliveryKey identifies a delivery: the webhook, and the id of the delivery.
type DeliveryKey struct{ Webhook, ID uuid.UUID }

// DeliveryPick requests due deliveries of one webhook, at most Limit.
type DeliveryPick struct {
	Webhook uuid.UUID
	Limit   int
}

// DeliveryQuery selects deliveries of a webhook, newest first.
type DeliveryQuery struct {
	Org     string
	Webhook uuid.UUID
	Status  perdure.DeliveryStatus // "" selects all statuses
	Cursor  string
	Limit   int
}

// WebhookReader reads webhooks and their deliveries.
type WebhookReader interface {
	// Webhook returns a webhook of the org. Errors: not_found if there is none.
	Webhook(ctx context.Context, org string, id uuid.UUID) (*perdure.Webhook, error)
	// Webhooks lists the webhooks of the org, oldest first.
	Webhooks(ctx context.Context, org string) ([]*perdure.Webhook, error)
	// Delivery returns a delivery of an org's webhook. Errors: not_found if there is none.
	Delivery(ctx context.Context, org string, key DeliveryKey) (*perdure.Delivery, error)
	// Deliveries lists deliveries without their payloads. Errors: invalid_argument for a cursor
	// that a different list has returned.
	Deliveries(ctx context.Context, q DeliveryQuery) (Page[*perdure.Delivery], error)
}
