package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var webhookTests = map[string]func(*fixture){
	"every field of a webhook comes back":                  webhookFields,
	"a command sees the webhooks that are committed":       webhooksSeen,
	"a command sees a webhook of its own batch":            webhooksOfBatch,
	"due webhooks are listed page by page":                 webhooksDue,
	"a webhook with too many waiting deliveries is found":  webhooksOverdue,
	"a deleted webhook is deleted with its deliveries":     webhookDeleted,
	"a webhook of another org does not exist for a caller": webhooksApart,
}

// webhook stores a new webhook. The functions in `edit` may change the webhook before it is stored.
func (f *fixture) webhook(of string, edit ...func(*perdure.Webhook)) *perdure.Webhook {
	f.Helper()
	w := &perdure.Webhook{
		ID: uuid.Must(uuid.NewV7()), Org: of, URL: "https://example.com/" + of, Events: []string{"agent.*"}, Enabled: true, Secret: "s",
		CreatedAt: milestone(1), UpdatedAt: milestone(1), Version: 1,
	}
	for _, change := range edit {
		change(w)
	}
	f.must(f.outside(of, store.Changes{Webhook: w}))
	return w
}

func webhookFields(f *fixture) {
	w := f.webhook(org, func(w *perdure.Webhook) {
		w.Events, w.Description, w.OldSecret, w.OldSecretUntil = []string{"agent.*", "question.asked"}, "d", "old", ptr(milestone(9))
		w.Enabled, w.DisabledReason = false, "why"
	})
	for range 2 {
		got, err := f.s.Webhook(f.ctx, org, w.ID)
		f.must(err)
		f.equal("the webhook", got, w)
		all, err := f.s.Webhooks(f.ctx, org)
		f.must(err)
		f.equal("the list", all, []*perdure.Webhook{w})
		f.equal("the webhook decided on", f.look(uuid.Nil, store.Needs{Webhook: &w.ID, WebhookCount: true}).Webhook, w)
		w.URL, w.Events, w.Description, w.Enabled, w.DisabledReason = "https://example.com/other", []string{"*"}, "", true, ""
		w.Secret, w.OldSecret, w.OldSecretUntil, w.UpdatedAt, w.Version = "new", "s", nil, milestone(3), 2
		f.must(f.outside(org, store.Changes{Webhook: w}))
	}
}

func (f *fixture) seenWebhooks(of string, id uuid.UUID) (ids []uuid.UUID) {
	f.Helper()
	var seen *store.State
	f.do(store.Command{Lane: store.LaneCommits, Org: of, Execution: id, Decide: func(s *store.State) (*store.Changes, error) { seen = s; return nil, nil }})
	for _, w := range seen.Webhooks {
		ids = append(ids, w.ID)
	}
	return ids
}

func webhooksSeen(f *fixture) {
	x := f.start()
	other := f.start(func(x *perdure.Execution) { x.Org = "other" })
	f.equal("the webhooks at first", f.seenWebhooks(org, x), []uuid.UUID(nil))
	a := f.webhook(org)
	for range 2 { // the second read uses a cache
		f.equal("one webhook", f.seenWebhooks(org, x), []uuid.UUID{a.ID})
		f.equal("the webhooks of a new execution's org", f.seenWebhooks(org, uuid.New()), []uuid.UUID{a.ID})
		f.equal("the webhooks of another org", f.seenWebhooks("other", other), []uuid.UUID(nil))
	}
	b := f.webhook(org)
	f.equal("two webhooks", f.seenWebhooks(org, x), []uuid.UUID{a.ID, b.ID})
	a.Enabled = false
	f.must(f.outside(org, store.Changes{Webhook: a}))
	f.equal("one that is enabled", f.seenWebhooks(org, x), []uuid.UUID{b.ID})
	b.DeletedAt = ptr(milestone(3))
	f.must(f.outside(org, store.Changes{Webhook: b}))
	f.equal("none that is enabled", f.seenWebhooks(org, x), []uuid.UUID(nil))
	// A refused command does not change the store's cache of webhooks.
	_, err := f.s.Do(f.ctx, store.Command{Lane: store.LaneCommits, Org: org, Decide: func(*store.State) (*store.Changes, error) {
		bad := *a
		bad.Enabled = true
		return &store.Changes{Webhook: &bad, Deliveries: []*perdure.Delivery{{ID: uuid.New(), Status: "no status", WebhookID: a.ID, CreatedAt: milestone(1), Payload: json.RawMessage(`1`)}}}, nil
	}})
	if err == nil {
		f.Error("a delivery with an unknown status was stored")
	}
	f.equal("none after a refused change", f.seenWebhooks(org, x), []uuid.UUID(nil))
	var picked []*perdure.Webhook
	c := f.webhook(org)
	f.do(store.Command{
		Lane: store.LaneClaims, Pick: &store.Pick{Kind: store.PickAgents, Queues: []string{"default"}, Kinds: []string{"agent"}, Limit: 1}, Org: org,
		Decide: func(s *store.State) (*store.Changes, error) { picked = s.Webhooks; return nil, nil },
	})
	if len(picked) != 1 || picked[0].ID != c.ID {
		f.Errorf("a picked execution has the webhooks %v", picked)
	}
}

// webhooksOfBatch checks commands that are queued together with a change of a webhook. Each command
// must see the list of webhooks either before or after the change. A command that is queued after
// all these commands have ended must see the list after the change.
func webhooksOfBatch(f *fixture) {
	ids := make([]uuid.UUID, 4)
	for i := range ids {
		ids[i] = f.start()
	}
	for n := range 5 {
		done := make(chan error, len(ids))
		for _, id := range ids {
			go func() {
				_, err := f.s.Do(f.ctx, store.Command{Lane: store.LaneCommits, Org: org, Execution: id, Decide: func(s *store.State) (*store.Changes, error) {
					if len(s.Webhooks) != n && len(s.Webhooks) != n+1 {
						return nil, fmt.Errorf("%d webhooks, want %d or one more", len(s.Webhooks), n)
					}
					return nil, nil
				}})
				done <- err
			}()
		}
		f.webhook(org)
		for range ids {
			f.must(<-done)
		}
		f.equal("the number of webhooks", len(f.seenWebhooks(org, ids[0])), n+1)
	}
}

func webhooksDue(f *fixture) {
	var want []uuid.UUID
	for i := range 5 {
		w := f.webhook(fmt.Sprintf("org%d", i%2))
		f.delivery(w, int64(i))
		f.delivery(w, int64(i))
		want = append(want, w.ID)
	}
	off := f.webhook(org, func(w *perdure.Webhook) { w.Enabled = false })
	f.delivery(off, 1)
	gone := f.webhook(org, func(w *perdure.Webhook) { w.DeletedAt = ptr(milestone(1)) })
	f.delivery(gone, 1)
	later := f.webhook(org)
	f.delivery(later, 0, func(d *perdure.Delivery) {
		d.NextAttemptAt = ptr(perdure.AtMilli(f.s.Now().Add(time.Hour).UnixMilli()))
	})
	f.delivery(&perdure.Webhook{ID: uuid.New(), Org: org}, 1) // the webhook of this delivery does not exist
	var got []uuid.UUID
	for after := uuid.Nil; ; {
		page, err := f.s.DueWebhooks(f.ctx, f.s.Now(), after, 2)
		f.must(err)
		if len(page) == 0 {
			break
		}
		for _, w := range page {
			got = append(got, w.ID)
		}
		after = page[len(page)-1].ID
	}
	f.equal("the due webhooks", got, want)
	none, err := f.s.DueWebhooks(f.ctx, milestone(-1), uuid.Nil, 10)
	f.must(err)
	f.equal("due webhooks before", len(none), 0)
}

func webhooksOverdue(f *fixture) {
	few, many := f.webhook(org), f.webhook(org)
	f.delivery(few, 1)
	for left := perdure.MaxUndelivered; left > 0; left -= 500 {
		var some []*perdure.Delivery
		for range 500 {
			some = append(some, newDelivery(many, 1))
		}
		f.must(f.outside(org, store.Changes{Deliveries: some}))
	}
	overdue := func() int {
		all, err := f.s.Overdue(f.ctx, 10)
		f.must(err)
		return len(all)
	}
	f.equal("webhooks with too many", overdue(), 0)
	f.equal("waiting", f.look(uuid.Nil, store.Needs{Webhook: &many.ID, Waiting: true}).Waiting, perdure.MaxUndelivered)
	f.delivery(many, 1)
	f.delivery(many, 1)
	f.equal("webhooks with too many", overdue(), 1)
	f.equal("waiting", f.look(uuid.Nil, store.Needs{Webhook: &many.ID, Waiting: true}).Waiting, perdure.MaxUndelivered+1)
	c, err := f.s.(store.Counter).Census(f.ctx)
	f.must(err)
	f.equal("the census", c.Deliveries, int64(perdure.MaxUndelivered+3))
}

func webhookDeleted(f *fixture) {
	gone, kept := f.webhook(org), f.webhook(org)
	for range 5 {
		f.delivery(gone, 1)
	}
	now := func(d *perdure.Delivery) { d.NextAttemptAt = ptr(perdure.AtMilli(f.s.Now().UnixMilli())) }
	other := f.delivery(kept, 1, now)
	gone.DeletedAt = ptr(milestone(5))
	f.must(f.outside(org, store.Changes{Webhook: gone}))
	_, err := f.s.Webhook(f.ctx, org, gone.ID)
	f.wantCode(err, perdure.NotFound)
	all, err := f.s.Webhooks(f.ctx, org)
	f.must(err)
	f.equal("the webhooks", all, []*perdure.Webhook{kept})
	seen := f.look(uuid.Nil, store.Needs{Webhook: &gone.ID, WebhookCount: true})
	if seen.Webhook != nil || seen.WebhookCount != 1 {
		f.Errorf("a decision sees %v and %d webhooks", seen.Webhook, seen.WebhookCount)
	}
	for steps := 0; f.oldDeliveries(); steps++ {
		if steps > 5 {
			f.Fatal("the sweep does not end")
		}
		f.must(f.outside("", store.Changes{SweepDeliveries: 2}))
	}
	page, err := f.s.Deliveries(f.ctx, store.DeliveryQuery{Org: org, Webhook: gone.ID})
	f.must(err)
	f.equal("deliveries of the deleted webhook", len(page.Items), 0)
	_, err = f.s.Delivery(f.ctx, org, store.DeliveryKey{Webhook: kept.ID, ID: other.ID})
	f.must(err)
}

func webhooksApart(f *fixture) {
	w := f.webhook(org)
	d := f.delivery(w, 1)
	key := store.DeliveryKey{Webhook: w.ID, ID: d.ID}
	_, err := f.s.Webhook(f.ctx, "other", w.ID)
	f.wantCode(err, perdure.NotFound)
	_, err = f.s.Delivery(f.ctx, "other", key)
	f.wantCode(err, perdure.NotFound)
	page, err := f.s.Deliveries(f.ctx, store.DeliveryQuery{Org: "other", Webhook: w.ID})
	f.must(err)
	f.equal("deliveries of another org's webhook", len(page.Items), 0)
	var seen *store.State
	f.do(store.Command{
		Lane: store.LaneCommits, Org: "other", Needs: func(*perdure.Execution) store.Needs {
			return store.Needs{Webhook: &w.ID, WebhookCount: true, Delivery: &key}
		},
		Decide: func(s *store.State) (*store.Changes, error) { seen = s; return nil, nil },
	})
	if seen.Webhook != nil || seen.Delivery != nil || seen.WebhookCount != 0 {
		f.Errorf("a decision of another org sees %v, %v, %d", seen.Webhook, seen.Delivery, seen.WebhookCount)
	}
}
