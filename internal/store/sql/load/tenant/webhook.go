package tenant

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// WebhookRows declares the rows of the table of webhooks.
var WebhookRows = row.New("webhook", 1, []row.Field[perdure.Webhook]{
	row.ID("id", func(x *perdure.Webhook) *uuid.UUID { return &x.ID }),
	row.Text("org_id", func(x *perdure.Webhook) *string { return &x.Org }),
	row.Text("url", func(x *perdure.Webhook) *string { return &x.URL }),
	row.JSON("events", func(x *perdure.Webhook) *[]string { return &x.Events }, nil),
	row.Text("description", func(x *perdure.Webhook) *string { return &x.Description }),
	row.Flag("enabled", func(x *perdure.Webhook) *bool { return &x.Enabled }),
	row.Text("disabled_reason", func(x *perdure.Webhook) *string { return &x.DisabledReason }),
	row.Text("secret", func(x *perdure.Webhook) *string { return &x.Secret }),
	row.Text("old_secret", func(x *perdure.Webhook) *string { return &x.OldSecret }),
	row.OptTime("old_secret_until", func(x *perdure.Webhook) **perdure.Time { return &x.OldSecretUntil }),
	row.Time("created_at", func(x *perdure.Webhook) *perdure.Time { return &x.CreatedAt }),
	row.Time("updated_at", func(x *perdure.Webhook) *perdure.Time { return &x.UpdatedAt }),
	row.Number("version", func(x *perdure.Webhook) *int64 { return &x.Version }),
	row.OptTime("deleted_at", func(x *perdure.Webhook) **perdure.Time { return &x.DeletedAt }),
	row.OptID("link_key_id", func(x *perdure.Webhook) **uuid.UUID { return &x.KeyID }),
})

// WebhookSelect is the beginning of a query for webhooks, up to its condition.
var WebhookSelect = "SELECT " + WebhookRows.List("w") + " FROM webhook w WHERE "

var (
	// WebhooksOfOrg selects the webhooks of an org that are not deleted, oldest first.
	WebhooksOfOrg = statement.Read(WebhookSelect + "w.org_id = ? AND w.deleted_at IS NULL ORDER BY w.id")
	// WebhookByID selects a webhook of an org that is not deleted.
	WebhookByID = statement.Read(WebhookSelect + "w.id = ? AND " + column.Unindexed("w.org_id") + " = ? AND w.deleted_at IS NULL")
	// WebhookRevision selects the revision of the webhooks; 0 if there has never been a webhook.
	WebhookRevision = statement.Read("SELECT coalesce((SELECT revision FROM webhook_revision WHERE id = 1), 0)")
)

// deliveryFields declares the columns of deliveries, without the payload.
var deliveryFields = []row.Field[perdure.Delivery]{
	row.ID("webhook_id", func(x *perdure.Delivery) *uuid.UUID { return &x.WebhookID }),
	row.ID("id", func(x *perdure.Delivery) *uuid.UUID { return &x.ID }),
	row.Text("org_id", func(x *perdure.Delivery) *string { return &x.Org }),
	row.Text("event_type", func(x *perdure.Delivery) *perdure.EventType { return &x.EventType }),
	row.Text("status", func(x *perdure.Delivery) *perdure.DeliveryStatus { return &x.Status }),
	row.Number("attempts", func(x *perdure.Delivery) *int { return &x.Attempts }),
	row.OptTime("due_at", func(x *perdure.Delivery) **perdure.Time { return &x.NextAttemptAt }),
	row.Time("lease_until", func(x *perdure.Delivery) *perdure.Time { return &x.LeaseUntil }),
	row.Number("fence", func(x *perdure.Delivery) *int64 { return &x.Fence }),
	row.Number("response_status", func(x *perdure.Delivery) *int { return &x.ResponseStatus }),
	row.Text("response_body", func(x *perdure.Delivery) *string { return &x.ResponseBody }),
	row.Text("error", func(x *perdure.Delivery) *string { return &x.Error }),
	row.Time("created_at", func(x *perdure.Delivery) *perdure.Time { return &x.CreatedAt }),
	row.OptTime("attempted_at", func(x *perdure.Delivery) **perdure.Time { return &x.AttemptedAt }),
	row.OptTime("ended_at", func(x *perdure.Delivery) **perdure.Time { return &x.EndedAt }),
	row.Derived("remove_at", func(x *perdure.Delivery) any { return column.Millis(x.RemoveAt()) }).Unread(),
}

var (
	// DeliveryRows declares the rows of the table of deliveries.
	DeliveryRows = row.New("delivery", 2, append(deliveryFields[:len(deliveryFields):len(deliveryFields)],
		row.RawBytes("payload", func(x *perdure.Delivery) *json.RawMessage { return &x.Payload })))
	// DeliveryHeads declares the rows of deliveries without their payloads, for reading only.
	DeliveryHeads = row.New("delivery", 2, deliveryFields)
)

// DeliverySelect is the beginning of a query for deliveries, up to its condition.
var DeliverySelect = "SELECT " + DeliveryRows.List("x") + " FROM delivery x WHERE "
