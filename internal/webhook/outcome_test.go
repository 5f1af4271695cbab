package webhook

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/store"
)

// TestALostOutcomeIsSentAgain checks a delivery whose server stopped before it recorded the
// outcome. When the lease has ended, the delivery must be sent again with the same id. If the
// outcome of the first attempt arrives later, EndAttempt must ignore this outcome.
func TestALostOutcomeIsSentAgain(t *testing.T) {
	each(t, func(b *bench) {
		e := newEndpoint(b, nil)
		w, _ := b.webhook(e.URL)
		b.start()
		taken, err := b.engine.TakeDeliveries(b.Context(), []store.DeliveryPick{{Webhook: w.ID, Limit: 4}})
		b.must(err)
		if len(taken) != 1 {
			b.Fatalf("%d were taken", len(taken))
		}
		keys, err := b.engine.WebhookKeys(b.Context(), w)
		b.must(err)
		lost := post(b.Context(), b.sender.client, w, taken[0], body{content: taken[0].Payload}, keys, b.store.Now())
		b.step()
		b.clock.advance(perdure.DeliveryLease - time.Millisecond)
		b.step()
		if n := len(e.requests()); n != 1 {
			b.Fatalf("it was sent %d times while another server had it", n)
		}
		b.clock.advance(time.Millisecond)
		b.step()
		got := e.requests()
		if len(got) != 2 || got[0].id != got[1].id {
			b.Fatalf("it was sent %d times", len(got))
		}
		if d := b.only(w); d.Attempts != 1 || d.Status != perdure.DeliveryDelivered {
			b.Errorf("the delivery is %+v", d)
		}
		if late, err := b.engine.EndAttempt(b.Context(), taken[0], lost); err != nil || late != nil {
			b.Errorf("the late outcome gives %+v, %v", late, err)
		}
	})
}

// TestALateOutcomeDoesNotCount checks an attempt whose lease has ended. The outcome of the attempt
// changes nothing once another server has taken the delivery, or the delivery was sent again.
func TestALateOutcomeDoesNotCount(t *testing.T) {
	each(t, func(b *bench) {
		w, _ := b.webhook("http://127.0.0.1:1/nobody")
		b.start()
		take := func() *perdure.Delivery {
			b.Helper()
			taken, err := b.engine.TakeDeliveries(b.Context(), []store.DeliveryPick{{Webhook: w.ID, Limit: 1}})
			b.must(err)
			if len(taken) != 1 {
				b.Fatalf("%d were taken", len(taken))
			}
			return taken[0]
		}
		late := func(d *perdure.Delivery) {
			b.Helper()
			for _, status := range []int{200, 500, 410} {
				if ended, err := b.engine.EndAttempt(b.Context(), d, tenant.Outcome{Fence: d.Fence, Status: status}); err != nil || ended != nil {
					b.Errorf("the late outcome %d gives %+v, %v", status, ended, err)
				}
			}
		}
		first := take()
		b.clock.advance(perdure.DeliveryLease)
		second := take()
		late(first)
		_, err := b.engine.Resend(b.Context(), org, store.DeliveryKey{Webhook: w.ID, ID: second.ID})
		b.must(err)
		late(second)
		third := take()
		ended, err := b.engine.EndAttempt(b.Context(), third, tenant.Outcome{Fence: third.Fence, Status: 200})
		b.must(err)
		if ended == nil || ended.Status != perdure.DeliveryDelivered || ended.Attempts != 1 {
			b.Errorf("the delivery is %+v", ended)
		}
		if w, err := b.store.Webhook(b.Context(), org, w.ID); err != nil || !w.Enabled {
			b.Errorf("the webhook is %+v, %v", w, err)
		}
	})
}
