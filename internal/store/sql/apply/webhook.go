package apply

import (
	"math"
	"math/rand/v2"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	upsertWebhook  = statement.Declare(tenant.WebhookRows.UpsertStatement())
	webhooksOfOrg  = statement.Read("SELECT count(*) FROM webhook WHERE org_id = ? AND deleted_at IS NULL")
	upsertDelivery = statement.Declare(tenant.DeliveryRows.UpsertStatement())
	// setRevision stores a new revision with each change of a webhook. Revisions are random, so
	// that a store that was restored from a backup and then changed has no revision that it had
	// before.
	setRevision      = statement.Insert("webhook_revision", "id, revision", statement.Replacing("id", "revision = excluded.revision"))
	waitingOfWebhook = statement.Read("SELECT count(*) FROM (SELECT 1 FROM delivery WHERE webhook_id = ? AND status = 'pending' LIMIT ?) AS waiting")
	deadenWaiting    = statement.Alone("UPDATE delivery SET status = 'dead', due_at = NULL, lease_until = 0, fence = fence + 1, ended_at = ?1, remove_at = ?2" +
		" WHERE webhook_id = ?3 AND status = 'pending'")
	returnDeliveries = statement.Alone("UPDATE delivery SET due_at = ?1 WHERE status = 'pending' AND lease_until > ?1")
	sweepOld         = statement.Alone("DELETE FROM delivery WHERE (webhook_id, id) IN" +
		" (SELECT webhook_id, id FROM delivery WHERE remove_at <= ? ORDER BY remove_at LIMIT ?)")
	deletedWebhook = statement.Read("SELECT id FROM webhook WHERE deleted_at IS NOT NULL ORDER BY id LIMIT 1")
	sweepOf        = statement.Alone("DELETE FROM delivery WHERE (webhook_id, id) IN (SELECT webhook_id, id FROM delivery WHERE webhook_id = ? LIMIT ?)")
	anyOf          = statement.Read("SELECT 1 FROM delivery WHERE webhook_id = ? LIMIT 1")
	dropWebhook    = statement.Remove("webhook", statement.Columns("id"))
)

const (
	// heldWebhooks is the name of the lock for the webhooks of all orgs, and for the random revision
	// that each change of a webhook replaces. One lock for all orgs is enough, because webhooks rarely
	// change.
	heldWebhooks = "webhooks"
	// dueByWebhookText and deliveryByKeyText are conditions of statements. The dialect adds the
	// locking clause.
	dueByWebhookText  = "x.webhook_id = ? AND x.status = 'pending' AND x.due_at <= ? ORDER BY x.due_at LIMIT ?"
	deliveryByKeyText = "x.webhook_id = ? AND x.id = ? AND x.org_id = ?"
)

// loadWebhooks loads the webhooks and deliveries that a command needs.
func loadWebhooks(v statement.View, org string, now perdure.Time, n store.Needs, s *store.State) (err error) {
	if n.Webhook != nil {
		if s.Webhook, err = tenant.WebhookRows.One(v, tenant.WebhookByID, n.Webhook[:], org); err != nil {
			return err
		}
		if n.Waiting {
			if _, err = v.One(waitingOfWebhook, []any{n.Webhook[:], perdure.MaxUndelivered + 1}, &s.Waiting); err != nil {
				return err
			}
		}
	}
	if n.WebhookCount {
		if _, err = v.One(webhooksOfOrg, []any{org}, &s.WebhookCount); err != nil {
			return err
		}
	}
	if k := n.Delivery; k != nil {
		if s.Delivery, err = lockDelivery(v, org, *k); err != nil {
			return err
		}
	}
	for _, p := range n.Due {
		found, err := tenant.DeliveryRows.All(v, statement.NewAlone(tenant.DeliverySelect+dueByWebhookText+v.Dialect.SkipLocked), p.Webhook[:], column.Millis(now), p.Limit)
		if err != nil {
			return err
		}
		s.Due = append(s.Due, found...)
	}
	return nil
}

// lockDelivery returns a delivery and locks it until the transaction ends. It returns nil if there
// is none. Errors: ErrHeld if another transaction has locked the delivery.
func lockDelivery(v statement.View, org string, k store.DeliveryKey) (*perdure.Delivery, error) {
	args := []any{k.Webhook[:], k.ID[:], org}
	found, err := tenant.DeliveryRows.One(v, statement.NewAlone(tenant.DeliverySelect+deliveryByKeyText+v.Dialect.SkipLocked), args...)
	if err != nil || found != nil || v.Dialect.SkipLocked == "" {
		return found, err
	}
	there, err := tenant.DeliveryRows.One(v, statement.NewAlone(tenant.DeliverySelect+deliveryByKeyText), args...)
	if err == nil && there != nil {
		err = statement.ErrHeld
	}
	return nil, err
}

func asksWebhooks(n store.Needs) bool {
	return n.Webhook != nil || n.WebhookCount || n.Delivery != nil || len(n.Due) > 0
}

// heldForWebhooks returns the name to lock for a command that needs the row of a webhook; nil for
// other commands.
func heldForWebhooks(n store.Needs) []string {
	if n.Webhook != nil || n.WebhookCount {
		return []string{heldWebhooks}
	}
	return nil
}

func (t *Transaction) applyWebhooks(ch *store.Changes) error {
	if w := ch.Webhook; w != nil {
		t.ChangedWebhooks()
		if err := tenant.WebhookRows.Write(t.View, upsertWebhook, w); err != nil {
			return err
		}
		if err := t.Write(setRevision, int64(1), 1+rand.Int64N(math.MaxInt64-1)); err != nil {
			return err
		}
	}
	for _, d := range ch.Deliveries {
		if err := tenant.DeliveryRows.Write(t.View, upsertDelivery, d); err != nil {
			return err
		}
	}
	if ch.Deaden != nil {
		if err := t.Write(deadenWaiting, column.Millis(t.now), column.Millis(t.now.Add(perdure.DeliveryKept)), ch.Deaden[:]); err != nil {
			return err
		}
	}
	if ch.ReturnDeliveries {
		if err := t.Write(returnDeliveries, column.Millis(t.now)); err != nil {
			return err
		}
	}
	if ch.SweepDeliveries > 0 {
		return t.sweepDeliveries(ch.SweepDeliveries)
	}
	return nil
}

// sweepDeliveries deletes deliveries whose RemoveAt has passed. It also deletes deliveries of one
// deleted webhook, and, together with the last of these deliveries, the row of that webhook.
func (t *Transaction) sweepDeliveries(limit int) error {
	if err := t.Write(sweepOld, column.Millis(t.now), limit); err != nil {
		return err
	}
	var gone uuid.UUID
	found, err := t.One(deletedWebhook, nil, &gone)
	if err != nil || !found {
		return err
	}
	if err := t.Write(sweepOf, gone[:], limit); err != nil {
		return err
	}
	left, err := t.One(anyOf, []any{gone[:]}, new(int64))
	if err != nil || left {
		return err
	}
	return t.Write(dropWebhook, gone[:])
}

// wantedBy returns the enabled webhooks of the org of the execution x. For a new execution, whose x
// is nil, it returns those of `org`.
func (t *Transaction) wantedBy(org string, x *perdure.Execution) ([]*perdure.Webhook, error) {
	if x != nil {
		org = x.Org
	}
	return t.Webhooks(t.View, org)
}
