package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var deliveryTests = map[string]func(*fixture){
	"every field of a delivery comes back":             deliveryFields,
	"due deliveries are picked, the longest due first": deliveriesPicked,
	"waiting deliveries become dead together":          deliveriesDeadened,
	"deliveries that were being sent are due at once":  deliveriesReturned,
	"a damaged delivery is found":                      deliveryDamaged,
	"deliveries are listed newest first, page by page": deliveriesListed,
	"old deliveries are deleted":                       deliveriesSwept,
}

// delivery stores a delivery of a webhook. The delivery is due at milestone(due). The functions in
// `edit` may change it before it is stored.
func (f *fixture) delivery(w *perdure.Webhook, due int64, edit ...func(*perdure.Delivery)) *perdure.Delivery {
	f.Helper()
	d := newDelivery(w, due)
	for _, change := range edit {
		change(d)
	}
	f.must(f.outside(w.Org, store.Changes{Deliveries: []*perdure.Delivery{d}}))
	return d
}

func newDelivery(w *perdure.Webhook, due int64) *perdure.Delivery {
	return &perdure.Delivery{
		ID: uuid.Must(uuid.NewV7()), WebhookID: w.ID, Org: w.Org, EventType: perdure.EventCreated, Status: perdure.DeliveryPending,
		NextAttemptAt: ptr(milestone(due)), CreatedAt: milestone(due), Payload: json.RawMessage(`{"a":1}`),
	}
}

func deliveryFields(f *fixture) {
	w := f.webhook(org)
	d := f.delivery(w, 5, func(d *perdure.Delivery) {
		d.Attempts, d.ResponseStatus, d.ResponseBody, d.Error, d.AttemptedAt, d.LeaseUntil, d.Fence = 3, 500, "no", "why", ptr(milestone(6)), milestone(7), 8
	})
	key := store.DeliveryKey{Webhook: w.ID, ID: d.ID}
	for range 2 {
		got, err := f.s.Delivery(f.ctx, org, key)
		f.must(err)
		f.equal("the delivery", got, d)
		f.equal("the delivery decided on", f.look(uuid.Nil, store.Needs{Delivery: &key}).Delivery, d)
		d.Status, d.NextAttemptAt, d.EndedAt, d.LeaseUntil = perdure.DeliveryDelivered, nil, ptr(milestone(8)), perdure.Time{}
		f.must(f.outside(org, store.Changes{Deliveries: []*perdure.Delivery{d}}))
	}
}

func deliveriesPicked(f *fixture) {
	a, b := f.webhook(org), f.webhook("other")
	late, early := f.delivery(a, 20), f.delivery(a, 10)
	f.delivery(a, 15, func(d *perdure.Delivery) {
		d.Status, d.NextAttemptAt, d.EndedAt = perdure.DeliveryDead, nil, ptr(milestone(15))
	})
	f.delivery(a, 0, func(d *perdure.Delivery) {
		d.NextAttemptAt = ptr(perdure.AtMilli(f.s.Now().Add(time.Hour).UnixMilli()))
	})
	others := f.delivery(b, 5)
	due := func(picks ...store.DeliveryPick) (ids []uuid.UUID) {
		f.Helper()
		var seen []*perdure.Delivery
		_, err := f.s.Do(f.ctx, store.Command{
			Name: "test", Lane: store.LaneSweeps, Needs: func(*perdure.Execution) store.Needs { return store.Needs{Due: picks} },
			Decide: func(s *store.State) (*store.Changes, error) { seen = s.Due; return nil, nil },
		})
		f.must(err)
		for _, d := range seen {
			ids = append(ids, d.ID)
		}
		return ids
	}
	f.equal("all that is due", due(store.DeliveryPick{Webhook: a.ID, Limit: 9}, store.DeliveryPick{Webhook: b.ID, Limit: 9}), []uuid.UUID{early.ID, late.ID, others.ID})
	f.equal("one", due(store.DeliveryPick{Webhook: a.ID, Limit: 1}), []uuid.UUID{early.ID})
}

func deliveriesDeadened(f *fixture) {
	w, other := f.webhook(org), f.webhook(org)
	waits := f.delivery(w, 1, func(d *perdure.Delivery) { d.Fence, d.LeaseUntil = 4, milestone(2) })
	done := f.delivery(w, 1, func(d *perdure.Delivery) {
		d.Status, d.NextAttemptAt, d.EndedAt = perdure.DeliveryDelivered, nil, ptr(milestone(2))
	})
	others := f.delivery(other, 1)
	f.must(f.outside(org, store.Changes{Deaden: &w.ID}))
	for _, d := range []*perdure.Delivery{done, others} {
		got, err := f.s.Delivery(f.ctx, org, store.DeliveryKey{Webhook: d.WebhookID, ID: d.ID})
		f.must(err)
		f.equal("another delivery", got, d)
	}
	got, err := f.s.Delivery(f.ctx, org, store.DeliveryKey{Webhook: w.ID, ID: waits.ID})
	f.must(err)
	if got.Status != perdure.DeliveryDead || got.NextAttemptAt != nil || got.EndedAt == nil || got.Fence != 5 || !got.LeaseUntil.IsZero() {
		f.Errorf("the dead delivery is %+v", got)
	}
}

func deliveryDamaged(f *fixture) {
	w := f.webhook(org)
	audit := func() (found error) {
		for _, err := range f.s.(interface {
			Audit(ctx context.Context) iter.Seq2[uuid.UUID, error]
		}).Audit(f.ctx) {
			found = errors.Join(found, err)
		}
		return found
	}
	for what, damage := range map[string]func(*perdure.Delivery){
		"pending without a time": func(d *perdure.Delivery) { d.NextAttemptAt = nil },
		"pending and ended":      func(d *perdure.Delivery) { d.EndedAt = ptr(milestone(2)) },
		"dead and due":           func(d *perdure.Delivery) { d.Status, d.EndedAt = perdure.DeliveryDead, ptr(milestone(2)) },
		"of another org":         func(d *perdure.Delivery) { d.Org = "other" },
	} {
		d := f.delivery(w, 1)
		f.must(audit())
		sound := *d
		damage(d)
		f.must(f.outside(org, store.Changes{Deliveries: []*perdure.Delivery{d}}))
		if audit() == nil {
			f.Errorf("a delivery that is %s is not found", what)
		}
		f.must(f.outside(org, store.Changes{Deliveries: []*perdure.Delivery{&sound}}))
	}
}

func deliveriesReturned(f *fixture) {
	w := f.webhook(org)
	later := perdure.AtMilli(f.s.Now().Add(time.Hour).UnixMilli())
	sending := f.delivery(w, 1, func(d *perdure.Delivery) { d.NextAttemptAt, d.LeaseUntil, d.Fence = &later, later, 2 })
	waiting := f.delivery(w, 1, func(d *perdure.Delivery) { d.NextAttemptAt = &later })
	f.must(f.outside("", store.Changes{ReturnDeliveries: true}))
	got, err := f.s.Delivery(f.ctx, org, store.DeliveryKey{Webhook: w.ID, ID: sending.ID})
	f.must(err)
	if !got.NextAttemptAt.Reached(f.s.Now()) || got.LeaseUntil.IsZero() || got.Fence != 2 {
		f.Errorf("the delivery is %+v", got)
	}
	got, err = f.s.Delivery(f.ctx, org, store.DeliveryKey{Webhook: w.ID, ID: waiting.ID})
	f.must(err)
	f.equal("a delivery that waits", got, waiting)
}

func deliveriesListed(f *fixture) {
	w := f.webhook(org)
	var want []uuid.UUID
	for i := range 7 {
		d := f.delivery(w, int64(i), func(d *perdure.Delivery) {
			if i%2 == 1 {
				d.Status, d.NextAttemptAt, d.EndedAt = perdure.DeliveryDead, nil, ptr(milestone(9))
			}
		})
		want = append([]uuid.UUID{d.ID}, want...)
	}
	list := func(q store.DeliveryQuery) (ids []uuid.UUID) {
		f.Helper()
		q.Org, q.Webhook = org, w.ID
		for {
			page, err := f.s.Deliveries(f.ctx, q)
			f.must(err)
			for _, d := range page.Items {
				if d.Payload != nil {
					f.Error("a list has payloads")
				}
				ids = append(ids, d.ID)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return ids
			}
		}
	}
	f.equal("the list", list(store.DeliveryQuery{Limit: 2}), want)
	f.equal("the whole list", list(store.DeliveryQuery{Limit: 7}), want)
	f.equal("the dead", list(store.DeliveryQuery{Limit: 2, Status: perdure.DeliveryDead}), []uuid.UUID{want[1], want[3], want[5]})
	_, err := f.s.Deliveries(f.ctx, store.DeliveryQuery{Org: org, Webhook: w.ID, Cursor: "x"})
	f.wantCode(err, perdure.InvalidArgument)
}

func deliveriesSwept(f *fixture) {
	w := f.webhook(org)
	old := f.s.Now().Add(-perdure.DeliveryKept - time.Second)
	ended := func(at perdure.Time) func(*perdure.Delivery) {
		return func(d *perdure.Delivery) {
			d.Status, d.NextAttemptAt, d.EndedAt = perdure.DeliveryDelivered, nil, ptr(perdure.AtMilli(at.UnixMilli()))
		}
	}
	for range 3 {
		f.delivery(w, 1, ended(old))
	}
	f.delivery(w, 1, func(d *perdure.Delivery) { d.NextAttemptAt = &old })
	kept := []*perdure.Delivery{f.delivery(w, 1, ended(old.Add(time.Minute))), f.delivery(w, 1, func(d *perdure.Delivery) { d.NextAttemptAt = ptr(perdure.AtMilli(f.s.Now().UnixMilli())) })}
	steps := 0
	for f.oldDeliveries() {
		f.must(f.outside("", store.Changes{SweepDeliveries: 2}))
		steps++
	}
	f.equal("steps", steps, 2)
	page, err := f.s.Deliveries(f.ctx, store.DeliveryQuery{Org: org, Webhook: w.ID})
	f.must(err)
	f.equal("the number that is left", len(page.Items), len(kept))
}

func (f *fixture) oldDeliveries() bool {
	f.Helper()
	old, err := f.s.OldDeliveries(f.ctx, f.s.Now())
	f.must(err)
	return old
}
