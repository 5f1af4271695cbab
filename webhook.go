package perdure

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

const (
	// MaxWebhooks is the maximum number of webhooks of an org.
	MaxWebhooks = 20
	// MaxWebhookURL is the maximum length of a webhook's URL in bytes.
	MaxWebhookURL = 2 << 10
	// MaxWebhookDescription is the maximum length of a webhook's description in bytes.
	MaxWebhookDescription = 1 << 10
	// MaxWebhookEvents is the maximum number of types and patterns of a webhook.
	MaxWebhookEvents = 50
	// MaxUndelivered is the maximum number of waiting deliveries of a webhook. A webhook with more is
	// disabled.
	MaxUndelivered = 10_000
	// MaxDeliveryAnswer is the maximum length in bytes of the stored part of an endpoint's answer.
	MaxDeliveryAnswer = 1 << 10

	// DeliveryLease is the time in which a server must send a delivery that it has taken, and record
	// the outcome. After it, any server sends the delivery again.
	DeliveryLease = time.Minute
	// DeliveryKept is how long a delivery is kept after its end. A delivery that waits for a disabled
	// webhook is kept as long.
	DeliveryKept = 7 * 24 * time.Hour
	// OldSecretLife is how long the secret before a rotation still signs.
	OldSecretLife = 24 * time.Hour
)

// DeliveryRetries are the pauses after the failed attempts of a delivery. When an attempt fails after
// the last pause, the delivery is dead.
var DeliveryRetries = []time.Duration{
	5 * time.Second, 30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 24 * time.Hour,
}

// Webhook is an HTTP endpoint of an org to which the server sends events as they are committed.
type Webhook struct {
	ID  uuid.UUID `json:"id"`
	URL string    `json:"url"`
	// Events are types of events, and patterns such as "agent.*".
	Events      []string `json:"events"`
	Description string   `json:"description,omitempty"`
	Enabled     bool     `json:"enabled"`
	// KeyID is the key whose links the deliveries about new questions contain; nil if they contain none.
	KeyID *uuid.UUID `json:"keyId,omitempty"`
	// DisabledReason says why the server has disabled the webhook; "" otherwise.
	DisabledReason string `json:"disabledReason,omitempty"`
	// OldSecretUntil is the end of the time in which the secret before the last rotation also signs;
	// nil if there is none.
	OldSecretUntil *Time `json:"oldSecretUntil,omitempty"`
	CreatedAt      Time  `json:"createdAt"`
	UpdatedAt      Time  `json:"updatedAt"`
	Version        int64 `json:"version"`

	Org string `json:"-"`
	// Secret and OldSecret are the sealed secrets. OldSecret is "" if there is none.
	Secret    string `json:"-"`
	OldSecret string `json:"-"`
	// DeletedAt is set for a deleted webhook whose deliveries are not all deleted yet. No API returns
	// such a webhook.
	DeletedAt *Time `json:"-"`
}

// DeliveryStatus is the status of a delivery.
type DeliveryStatus string

const (
	DeliveryPending   DeliveryStatus = "pending"   // waits for its first or its next attempt, or is being sent
	DeliveryDelivered DeliveryStatus = "delivered" // the endpoint has accepted it
	DeliveryDead      DeliveryStatus = "dead"      // no attempt succeeded, and the server makes no more
)

// DeliveryStatuses returns all statuses of deliveries.
func DeliveryStatuses() []DeliveryStatus {
	return []DeliveryStatus{DeliveryPending, DeliveryDelivered, DeliveryDead}
}

// Delivery is one event on its way to one webhook.
type Delivery struct {
	// ID identifies the event. It is the header webhook-id, the same at each attempt and for each
	// webhook, and increases with the time of the event.
	ID        uuid.UUID      `json:"id"`
	WebhookID uuid.UUID      `json:"webhookId"`
	EventType EventType      `json:"eventType"`
	Status    DeliveryStatus `json:"status"`
	// Attempts counts the attempts. An attempt that no outcome was recorded for is repeated and counts
	// once. Sending a delivery again starts from 0.
	Attempts int `json:"attempts"`
	// NextAttemptAt is nil unless the delivery is pending. While a server is sending the delivery,
	// it is the time from which another server may send it.
	NextAttemptAt *Time `json:"nextAttemptAt,omitempty"`
	// ResponseStatus and ResponseBody are the endpoint's newest answer, ResponseBody its first bytes.
	// Error says why there is none.
	ResponseStatus int    `json:"responseStatus,omitempty"`
	ResponseBody   string `json:"responseBody,omitempty"`
	Error          string `json:"error,omitempty"`
	CreatedAt      Time   `json:"createdAt"`
	AttemptedAt    *Time  `json:"attemptedAt,omitempty"`
	EndedAt        *Time  `json:"endedAt,omitempty"`
	// Payload is the body that is sent.
	Payload json.RawMessage `json:"payload,omitempty"`

	Org string `json:"-"`
	// LeaseUntil is the end of the lease of the server that sends the delivery; zero if none does.
	LeaseUntil Time `json:"-"`
	// Fence grows when a server takes the delivery, and when it is sent again. An outcome with an older
	// fence is ignored.
	Fence int64 `json:"-"`
}

// RemoveAt returns when the delivery is deleted.
func (d *Delivery) RemoveAt() Time {
	switch {
	case d.EndedAt != nil:
		return d.EndedAt.Add(DeliveryKept)
	case d.NextAttemptAt != nil:
		return d.NextAttemptAt.Add(DeliveryKept)
	}
	return d.CreatedAt.Add(DeliveryKept)
}
