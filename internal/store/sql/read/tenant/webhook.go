package tenant

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// waitingWebhooks is the beginning of a query. It selects the ids greater than ?1 of webhooks with
// pending deliveries. It reads one row of the index for each webhook.
const waitingWebhooks = "WITH RECURSIVE waiting(id) AS (" +
	"SELECT (SELECT webhook_id FROM delivery WHERE status = 'pending' AND webhook_id > ?1 ORDER BY webhook_id LIMIT 1)" +
	" UNION ALL SELECT (SELECT d.webhook_id FROM delivery d WHERE d.status = 'pending' AND d.webhook_id > waiting.id ORDER BY d.webhook_id LIMIT 1)" +
	" FROM waiting WHERE waiting.id IS NOT NULL) "

var (
	dueWebhooks = statement.Alone(waitingWebhooks + "SELECT " + tenant.WebhookRows.List("w") + " FROM waiting CROSS JOIN webhook w" +
		" WHERE w.id = waiting.id AND w.enabled = 1 AND w.deleted_at IS NULL" +
		" AND EXISTS (SELECT 1 FROM delivery d WHERE d.webhook_id = waiting.id AND d.status = 'pending' AND d.due_at <= ?2) LIMIT ?3")
	overdueWebhooks = statement.Alone(waitingWebhooks + "SELECT " + tenant.WebhookRows.List("w") + " FROM waiting CROSS JOIN webhook w" +
		" WHERE w.id = waiting.id AND w.enabled = 1 AND w.deleted_at IS NULL" +
		" AND (SELECT count(*) FROM (SELECT 1 FROM delivery d WHERE d.webhook_id = waiting.id AND d.status = 'pending' LIMIT ?2) AS found) >= ?2 LIMIT ?3")

	deliveryByKey    = statement.Read(tenant.DeliverySelect + "x.webhook_id = ? AND x.id = ? AND x.org_id = ?")
	deliveriesBefore = statement.Read("SELECT " + tenant.DeliveryHeads.List("x") + " FROM delivery x" +
		" WHERE x.webhook_id = ? AND x.id < ? AND x.org_id = ? ORDER BY x.id DESC LIMIT ?")
	deliveriesByStatus = statement.Read("SELECT " + tenant.DeliveryHeads.List("x") + " FROM delivery x INDEXED BY idx_delivery_status" +
		" WHERE x.webhook_id = ? AND x.id < ? AND x.org_id = ? AND x.status = ? AND x.attempts >= 0 ORDER BY x.id DESC LIMIT ?")
	oldDelivery = statement.Read("SELECT EXISTS (SELECT 1 FROM delivery WHERE remove_at <= ?)" +
		" OR EXISTS (SELECT 1 FROM webhook WHERE deleted_at IS NOT NULL)")
)

// Webhook implements [store.Reader].
func (r *Tenants) Webhook(ctx context.Context, org string, id uuid.UUID) (*perdure.Webhook, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*perdure.Webhook, error) {
		return tenant.WebhookRows.One(v, tenant.WebhookByID, id[:], org)
	}, "there is no webhook %s", id)
}

// Webhooks implements [store.Reader].
func (r *Tenants) Webhooks(ctx context.Context, org string) ([]*perdure.Webhook, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.Webhook, error) {
		return tenant.WebhookRows.All(v, tenant.WebhooksOfOrg, org)
	})
}

// Delivery implements [store.Reader].
func (r *Tenants) Delivery(ctx context.Context, org string, k store.DeliveryKey) (*perdure.Delivery, error) {
	return base.Find(ctx, r.Source, func(v statement.View) (*perdure.Delivery, error) {
		return tenant.DeliveryRows.One(v, deliveryByKey, k.Webhook[:], k.ID[:], org)
	}, "webhook %s has no delivery %s", k.Webhook, k.ID)
}

// Deliveries implements [store.Reader].
func (r *Tenants) Deliveries(ctx context.Context, q store.DeliveryQuery) (page store.Page[*perdure.Delivery], err error) {
	before := uuid.Max
	if q.Cursor != "" {
		if before, err = uuid.Parse(q.Cursor); err != nil || before.String() != q.Cursor {
			return page, perdure.FieldErrorf("cursor", "is not a cursor of this list; leave it out to read from the start")
		}
	}
	limit := base.PageLimit(q.Limit)
	query, args := deliveriesBefore, []any{q.Webhook[:], before[:], q.Org}
	if q.Status != "" {
		query, args = deliveriesByStatus, append(args, string(q.Status))
	}
	page.Items, err = base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.Delivery, error) {
		return tenant.DeliveryHeads.All(v, query, append(args, limit+1)...)
	})
	if err == nil && len(page.Items) > limit {
		page.Items = page.Items[:limit]
		page.Next = page.Items[limit-1].ID.String()
	}
	return page, err
}

// DueWebhooks implements [store.Reader].
func (r *Tenants) DueWebhooks(ctx context.Context, now perdure.Time, after uuid.UUID, limit int) ([]*perdure.Webhook, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.Webhook, error) {
		return tenant.WebhookRows.All(v, dueWebhooks, after[:], column.Millis(now), limit)
	})
}

// Overdue implements [store.Reader].
func (r *Tenants) Overdue(ctx context.Context, limit int) ([]*perdure.Webhook, error) {
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.Webhook, error) {
		return tenant.WebhookRows.All(v, overdueWebhooks, uuid.Nil[:], perdure.MaxUndelivered+1, limit)
	})
}

// OldDeliveries implements [store.Reader].
func (r *Tenants) OldDeliveries(ctx context.Context, now perdure.Time) (bool, error) {
	return base.Get(ctx, r.Source, func(v statement.View) (old bool, err error) {
		_, err = v.One(oldDelivery, []any{column.Millis(now)}, column.FlagInto(&old))
		return old, err
	})
}
