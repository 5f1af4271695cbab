package tenants

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
)

// TakeDeliveries reserves due deliveries for this server to send, and returns them. No other server
// can take these deliveries for perdure.DeliveryLease.
func (t *Tenants) TakeDeliveries(ctx context.Context, picks []store.DeliveryPick) ([]*perdure.Delivery, error) {
	value, err := t.one(ctx, store.Command{
		Name: "take deliveries", Lane: store.LaneSweeps,
		Needs:  func(*perdure.Execution) store.Needs { return store.Needs{Due: picks} },
		Decide: tenant.TakeDeliveries,
	})
	taken, _ := value.([]*perdure.Delivery)
	return taken, err
}

// EndAttempt records the outcome of an attempt to send a delivery. It returns the updated delivery,
// or nil if the delivery is no longer reserved for this attempt.
func (t *Tenants) EndAttempt(ctx context.Context, d *perdure.Delivery, o tenant.Outcome) (*perdure.Delivery, error) {
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: d.Org, Action: perdure.AuditWebhookDisabled}
	needs := store.Needs{Delivery: &store.DeliveryKey{Webhook: d.WebhookID, ID: d.ID}}
	if o.NeedsWebhook() {
		needs.Webhook = &d.WebhookID
	}
	value, err := t.one(ctx, store.Command{
		Name: "end delivery attempt", Lane: store.LaneSweeps, Org: d.Org,
		Needs:  func(*perdure.Execution) store.Needs { return needs },
		Decide: func(s *store.State) (*store.Changes, error) { return tenant.EndAttempt(s, by, o) },
	})
	ended, _ := value.(*perdure.Delivery)
	return ended, err
}

// ReturnDeliveries ends the reservations that an earlier server process had when it stopped, so
// that their deliveries are due again. No other server may use the store during the call.
func (t *Tenants) ReturnDeliveries(ctx context.Context) error {
	_, err := t.one(ctx, store.Command{
		Name: "return deliveries", Lane: store.LaneSweeps, Frees: true,
		Decide: func(*store.State) (*store.Changes, error) { return tenant.ReturnDeliveries() },
	})
	return err
}

// Resend makes a delivery due at once. Errors: not_found, conflict if its webhook is disabled.
func (t *Tenants) Resend(ctx context.Context, org string, k store.DeliveryKey) (*perdure.Delivery, error) {
	return t.send(ctx, "resend delivery", org, store.Needs{Webhook: &k.Webhook, Delivery: &k}, func(s *store.State) (*store.Changes, error) {
		return tenant.Resend(s, k)
	})
}

// TestWebhook sends an event webhook.test to a webhook, even if the webhook does not subscribe to
// such events. Errors: not_found, conflict if the webhook is disabled.
func (t *Tenants) TestWebhook(ctx context.Context, org string, id uuid.UUID) (*perdure.Delivery, error) {
	event := uuid.Must(uuid.NewV7())
	return t.send(ctx, "test webhook", org, store.Needs{Webhook: &id}, func(s *store.State) (*store.Changes, error) {
		return tenant.SendTest(s, id, event)
	})
}

func (t *Tenants) send(ctx context.Context, name, org string, needs store.Needs, decide func(*store.State) (*store.Changes, error)) (*perdure.Delivery, error) {
	value, err := t.one(ctx, store.Command{
		Name: name, Lane: store.LaneCommits, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return needs },
		Decide: decide,
	})
	d, _ := value.(*perdure.Delivery)
	return d, err
}

// sweepStepOfDeliveries is the maximum number of deliveries that one command deletes.
const sweepStepOfDeliveries = 200

// SweepDeliveries deletes the deliveries whose retention has ended, and those of deleted webhooks.
func (t *Tenants) SweepDeliveries(ctx context.Context) error {
	for {
		left, err := t.store.OldDeliveries(ctx, t.store.Now())
		if err != nil || !left {
			return err
		}
		_, err = t.one(ctx, store.Command{
			Name: "sweep deliveries", Lane: store.LaneSweeps, Frees: true,
			Decide: func(*store.State) (*store.Changes, error) {
				return tenant.SweepDeliveries(sweepStepOfDeliveries)
			},
		})
		if err != nil {
			return err
		}
	}
}
