package tenant

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// TakeDeliveries takes the due deliveries for a sender, for the time perdure.DeliveryLease. The
// command's result contains their rows.
func TakeDeliveries(s *store.State) (*store.Changes, error) {
	if len(s.Due) == 0 {
		return nil, nil
	}
	until := s.Now.Add(perdure.DeliveryLease)
	taken := make([]*perdure.Delivery, len(s.Due))
	for i, d := range s.Due {
		if d.LeaseUntil.IsZero() {
			d.Attempts++ // if the outcome of the last attempt was never recorded, that attempt is repeated
		}
		d.Fence++
		d.LeaseUntil, d.NextAttemptAt = until, &until
		row := *d
		taken[i] = &row
	}
	return &store.Changes{Deliveries: s.Due, Answer: &rules.Decision{Value: taken}}, nil
}

// Outcome is the outcome of an attempt to send a delivery.
type Outcome struct {
	Fence int64 // fence of the delivery when it was taken
	// Status and Body are the response of the endpoint. Error is the reason why there is no
	// response.
	Status int
	Body   string
	Error  string
	// RetryAfter is the pause that the endpoint asks for; 0 for none.
	RetryAfter time.Duration
}

// statusGone is the HTTP status 410.
const statusGone = 410

// delivered reports whether the endpoint has accepted the delivery.
func (o Outcome) delivered() bool { return o.Status >= 200 && o.Status < 300 }

// gone reports whether the endpoint has responded that it no longer exists.
func (o Outcome) gone() bool { return o.Status == statusGone }

// NeedsWebhook reports whether the outcome changes the webhook.
func (o Outcome) NeedsWebhook() bool { return o.gone() }

// EndAttempt records the outcome of an attempt to send a delivery. If the endpoint has responded
// with 410 Gone, the webhook is disabled. The command's result is the delivery's row.
// EndAttempt returns no changes if the delivery was deleted, or another sender has taken it.
func EndAttempt(s *store.State, by Change, o Outcome) (*store.Changes, error) {
	d := s.Delivery
	if d == nil || d.Fence != o.Fence || d.Status != perdure.DeliveryPending {
		return nil, nil
	}
	now := s.Now
	d.LeaseUntil, d.AttemptedAt = perdure.Time{}, &now
	d.ResponseStatus, d.ResponseBody, d.Error = o.Status, o.Body, o.Error
	changes := &store.Changes{}
	switch {
	case o.delivered():
		endDelivery(d, perdure.DeliveryDelivered, now)
	case o.gone() && s.Webhook != nil && s.Webhook.Enabled:
		changes = disable(s, by, "the endpoint answered 410 Gone")
		endDelivery(d, perdure.DeliveryDead, now)
	case o.gone() || d.Attempts > len(perdure.DeliveryRetries):
		endDelivery(d, perdure.DeliveryDead, now)
	default:
		at := now.Add(pauseAfter(d.Attempts, o.RetryAfter))
		d.NextAttemptAt = &at
	}
	changes.Deliveries = []*perdure.Delivery{d}
	row := *d
	changes.Answer = &rules.Decision{Value: &row}
	return changes, nil
}

func endDelivery(d *perdure.Delivery, status perdure.DeliveryStatus, now perdure.Time) {
	d.Status, d.EndedAt, d.NextAttemptAt = status, &now, nil
}

// pauseAfter returns the pause after a failed attempt, counted from 1. If the endpoint has asked
// for a longer pause (`asked`), the result is that pause, but at most the longest one of the
// schedule.
func pauseAfter(attempt int, asked time.Duration) time.Duration {
	retries := perdure.DeliveryRetries
	pause := retries[min(max(attempt, 1), len(retries))-1]
	return max(pause, min(asked, retries[len(retries)-1]))
}

// Resend makes a delivery due at once, even if it has succeeded or is dead. All attempts of the
// schedule are available again. The command's result is the delivery's row. Errors:
// not_found; conflict, if the delivery's webhook is disabled.
func Resend(s *store.State, k store.DeliveryKey) (*store.Changes, error) {
	if err := checkSends(s, k.Webhook); err != nil {
		return nil, err
	}
	d := s.Delivery
	if d == nil {
		return nil, perdure.Errorf(perdure.NotFound, "webhook %s has no delivery %s", k.Webhook, k.ID)
	}
	now := s.Now
	d.Status, d.Attempts, d.NextAttemptAt, d.EndedAt, d.LeaseUntil = perdure.DeliveryPending, 0, &now, nil, perdure.Time{}
	d.Fence++
	return delivering(d), nil
}

// SendTest adds a delivery of an event webhook.test to a webhook. The command's result is
// the delivery's row. Errors: not_found, conflict if the webhook is disabled.
func SendTest(s *store.State, webhook, event uuid.UUID) (*store.Changes, error) {
	if err := checkSends(s, webhook); err != nil {
		return nil, err
	}
	payload := rules.Payload(perdure.EventWebhookTest, s.Now, map[string]any{"org": s.Webhook.Org, "webhookId": webhook})
	return delivering(rules.NewDelivery(s.Webhook, event, perdure.EventWebhookTest, s.Now, payload)), nil
}

func checkSends(s *store.State, webhook uuid.UUID) error {
	if s.Webhook == nil {
		return noWebhook(webhook)
	}
	if !s.Webhook.Enabled {
		return perdure.Errorf(perdure.Conflict, "webhook %s is disabled; enable it first", webhook)
	}
	return nil
}

func delivering(d *perdure.Delivery) *store.Changes {
	row := *d
	return &store.Changes{Deliveries: []*perdure.Delivery{d}, Answer: &rules.Decision{Value: &row, Hints: []rules.Hint{{Kind: rules.HintDeliveries}}}}
}

// ReturnDeliveries ends the leases of all pending deliveries, which then become due at once. A
// server calls it at its start: the server process that has taken these deliveries has ended.
func ReturnDeliveries() (*store.Changes, error) {
	return &store.Changes{ReturnDeliveries: true, Answer: &rules.Decision{}}, nil
}

// SweepDeliveries deletes at most `most` deliveries whose retention has ended.
func SweepDeliveries(most int) (*store.Changes, error) {
	return &store.Changes{SweepDeliveries: most, Answer: &rules.Decision{}}, nil
}
