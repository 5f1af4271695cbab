package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
)

// recordPause is the pause between attempts to record the outcome of a delivery, while the store
// refuses writes.
const recordPause = 500 * time.Millisecond

// attempt sends a delivery once and records the outcome. If the outcome cannot be recorded, the
// delivery is sent again when the lease of the delivery has ended.
func (s *Sender) attempt(ctx context.Context, w *perdure.Webhook, d *perdure.Delivery) {
	began := time.Now()
	keys, err := s.Engine.WebhookKeys(ctx, w)
	if err != nil {
		s.Logger.Error("a webhook's delivery cannot be signed", "webhook", w.ID, "org", w.Org, "error", err)
		if !perdure.IsCode(err, perdure.Internal) {
			return // the store could not be read
		}
		s.record(ctx, w, d, tenant.Outcome{Fence: d.Fence, Error: "the secret cannot be opened; rotate it"}, time.Since(began))
		return
	}
	b, err := s.bodyOf(ctx, w, d)
	if err != nil {
		s.Logger.Warn("a delivery waits, because its link cannot be stored", "webhook", w.ID, "org", w.Org, "error", err)
		return // the delivery is sent again after its lease
	}
	o := post(ctx, s.client, w, d, b, keys, s.Store.Now())
	if ctx.Err() != nil {
		return // the server is stopping, and the outcome is unknown
	}
	s.record(ctx, w, d, o, time.Since(began))
}

func (s *Sender) record(ctx context.Context, w *perdure.Webhook, d *perdure.Delivery, o tenant.Outcome, took time.Duration) {
	for {
		now, err := s.Engine.EndAttempt(ctx, d, o)
		if err == nil {
			s.observe(w, now, o, took)
			return
		}
		if d.LeaseUntil.Reached(s.Store.Now()) || ctx.Err() != nil {
			s.Logger.Warn("the outcome of a delivery is not recorded; it is sent again", "webhook", w.ID, "delivery", d.ID, "error", err)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(recordPause):
		}
	}
}

// observe reports the outcome of an attempt to the Observer. The parameter `now` is the delivery
// after the attempt, or nil if the delivery was no longer reserved for this attempt.
func (s *Sender) observe(w *perdure.Webhook, now *perdure.Delivery, o tenant.Outcome, took time.Duration) {
	if now == nil {
		return
	}
	if o.Status == http.StatusGone {
		s.disabled(w, "the endpoint answered 410 Gone")
	}
	if s.Observer == nil {
		return
	}
	outcome := string(now.Status)
	if now.Status == perdure.DeliveryPending {
		outcome = "failed"
	}
	s.Observer.Attempted(outcome, took)
}

// checkOverdue disables webhooks with too many waiting deliveries.
func (s *Sender) checkOverdue(ctx context.Context) error {
	overdue, err := s.Store.Overdue(ctx, duePage)
	if err != nil {
		return err
	}
	for _, w := range overdue {
		off, err := s.Engine.DisableOverdue(ctx, w.Org, w.ID)
		if err != nil {
			return err
		}
		if off != nil {
			s.disabled(off, off.DisabledReason)
		}
	}
	return nil
}

func (s *Sender) disabled(w *perdure.Webhook, why string) {
	s.Logger.Warn("a webhook is disabled", "webhook", w.ID, "org", w.Org, "reason", why)
	if s.Observer != nil {
		s.Observer.Disabled()
	}
}
