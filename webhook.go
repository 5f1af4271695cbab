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
	// MaxWebhookEvents is the maximum number of event types and patterns in Webhook.Events.
	MaxWebhookEvents = 50
	// MaxUndelivered is the maximum number of pending deliveries of a webhook. The server disables a
	// webhook that has more.
	MaxUndelivered = 10_000
	// MaxDeliveryAnswer is the maximum number of bytes that the server stores of an endpoint's
	// response.
	MaxDeliveryAnswer = 1 << 10

	// DeliveryLease is the time in which the server that has claimed a delivery must send it and record
	// the outcome. After that time, any server may send the delivery again.
	DeliveryLease = time.Minute
	// DeliveryKept is how long a delivery is stored after it was delivered or became dead. A
	// pending delivery of a disabled webhook is stored for the same time after its next attempt was
	// due.
	DeliveryKept = 7 * 24 * time.Hour
	// OldSecretLife is how long deliveries are also signed with the old secret after the secret was
	// rotated.
	OldSecretLife = 24 * time.Hour
)

// DeliveryRetries are the pauses after failed attempts of a delivery. A delivery is dead if the
// attempt after the last pause fails.
var DeliveryRetries = []time.Duration{
	5 * time.Second, 30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 24 * time.Hour,
}

// Webhook is an HTTP endpoint of an org to which the server sends events as they are committed.
type Webhook struct {
	ID  uuid.UUID `json:"id"`
	URL string    `json:"url"`
	// Events are the event types that the webhook receives. An element can be a pattern such as
	// "agent.*".
	Events      []string `json:"events"`
	Description string   `json:"description,omitempty"`
	Enabled     bool     `json:"enabled"`
	// KeyID is the id of the API key for links in deliveries about new questions. A person who opens
	// such a link answers the question with this key. If KeyID is nil, deliveries contain no link.
	KeyID *uuid.UUID `json:"keyId,omitempty"`
	// DisabledReason says why the server has disabled the webhook; "" if the server has not
	// disabled it.
	DisabledReason string `json:"disabledReason,omitempty"`
	// OldSecretUntil is the time until which deliveries are also signed with the secret that the last
	// rotation replaced. It is nil if there is no such secret.
	OldSecretUntil *Time `json:"oldSecretUntil,omitempty"`
	CreatedAt      Time  `json:"createdAt"`
	UpdatedAt      Time  `json:"updatedAt"`
	Version        int64 `json:"version"`

	Org string `json:"-"`
	// Secret and OldSecret are the encrypted signing secrets: the current one, and the one that the
	// last rotation replaced. OldSecret is "" if there is none.
	Secret    string `json:"-"`
	OldSecret string `json:"-"`
	// DeletedAt is set for a deleted webhook that still has stored deliveries. No API returns such a
	// webhook.
	DeletedAt *Time `json:"-"`
}

// DeliveryStatus is the status of a delivery.
type DeliveryStatus string

const (
	DeliveryPending   DeliveryStatus = "pending"   // waits for its first or its next attempt, or is being sent
	DeliveryDelivered DeliveryStatus = "delivered" // the endpoint has accepted it
	DeliveryDead      DeliveryStatus = "dead"      // no attempt succeeded; the server has given up
)

// DeliveryStatuses returns all statuses of deliveries.
func DeliveryStatuses() []DeliveryStatus {
	return []DeliveryStatus{DeliveryPending, DeliveryDelivered, DeliveryDead}
}

// Delivery is one event on its way to one webhook.
type Delivery struct {
	// ID identifies the event. It is sent in the header webhook-id. It is the same at each attempt and
	// for each webhook. A later event has a greater id.
	ID        uuid.UUID      `json:"id"`
	WebhookID uuid.UUID      `json:"webhookId"`
	EventType EventType      `json:"eventType"`
	Status    DeliveryStatus `json:"status"`
	// Attempts is the number of attempts. If the outcome of an attempt was not recorded, the attempt is
	// repeated and counts once. When a client sends the delivery again, Attempts starts from 0.
	Attempts int `json:"attempts"`
	// NextAttemptAt is when the next attempt is due; nil unless the delivery is pending. While a server
	// is sending the delivery, it is the time from which another server may send it.
	NextAttemptAt *Time `json:"nextAttemptAt,omitempty"`
	// ResponseStatus and ResponseBody are from the endpoint's newest response. ResponseBody has only
	// the first MaxDeliveryAnswer bytes of the body. If there was no response, Error says why.
	ResponseStatus int    `json:"responseStatus,omitempty"`
	ResponseBody   string `json:"responseBody,omitempty"`
	Error          string `json:"error,omitempty"`
	CreatedAt      Time   `json:"createdAt"`
	AttemptedAt    *Time  `json:"attemptedAt,omitempty"`
	EndedAt        *Time  `json:"endedAt,omitempty"`
	// Payload is the body of the HTTP request to the endpoint.
	Payload json.RawMessage `json:"payload,omitempty"`

	Org string `json:"-"`
	// LeaseUntil is when the lease of the server that sends the delivery ends; zero if no server sends
	// it.
	LeaseUntil Time `json:"-"`
	// Fence increases each time a server claims the delivery, and each time a client sends it again. An
	// outcome that is reported with an older fence is ignored.
	Fence int64 `json:"-"`
}

// RemoveAt returns the time at which the delivery is deleted from the store.
func (d *Delivery) RemoveAt() Time {
	switch {
	case d.EndedAt != nil:
		return d.EndedAt.Add(DeliveryKept)
	case d.NextAttemptAt != nil:
		return d.NextAttemptAt.Add(DeliveryKept)
	}
	return d.CreatedAt.Add(DeliveryKept)
}
