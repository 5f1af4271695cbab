package rest

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/store"
)

func (s *server) webhookRoutes() {
	g := operation.Group{API: s.API, Tag: "Webhooks"}
	admin := operation.AdminOnly
	operation.On(g, http.MethodPost, "/webhooks", "createWebhook", "Make a webhook; its secret is shown this once", s.createWebhook, operation.Status(201), admin)
	operation.Get(g, "/webhooks", "listWebhooks", "List the webhooks", s.listWebhooks, admin)
	operation.Get(g, "/webhooks/{id}", "getWebhook", "Get a webhook", s.getWebhook, admin)
	operation.On(g, http.MethodPut, "/webhooks/{id}", "putWebhook", "Replace a webhook's settings", s.putWebhook, admin)
	operation.On(g, http.MethodDelete, "/webhooks/{id}", "deleteWebhook", "Delete a webhook and its deliveries", s.deleteWebhook, operation.Status(204), admin)
	operation.On(g, http.MethodPost, "/webhooks/{id}/rotate", "rotateWebhook", "Make a new secret, shown this once; the old one signs for another 24 hours", s.rotateWebhook, admin)
	operation.On(g, http.MethodPost, "/webhooks/{id}/test", "testWebhook", "Send an event webhook.test", s.testWebhook, operation.Status(202), admin)
	operation.Get(g, "/webhooks/{id}/deliveries", "listDeliveries", "List the deliveries of a webhook, newest first, without their payloads", s.listDeliveries, admin)
	operation.Get(g, "/webhooks/{id}/deliveries/{deliveryId}", "getDelivery", "Get a delivery", s.getDelivery, admin)
	operation.On(g, http.MethodPost, "/webhooks/{id}/deliveries/{deliveryId}/resend", "resendDelivery", "Send a delivery again, with all its attempts", s.resendDelivery, operation.Status(202), admin)
}

// webhookBody is a webhook as a client sends it. Members that only the server sets are accepted and
// ignored, so that a client can send back a webhook that the server has sent.
type webhookBody struct {
	URL         string   `json:"url" doc:"Where events are posted to, over https. In dev mode http is allowed for this machine."`
	Events      []string `json:"events,omitempty" doc:"Types of events, and patterns such as question.* or agent.*. Left out: agent.*, the changes of a run's status."`
	Description string   `json:"description,omitempty"`
	Enabled     *bool    `json:"enabled,omitempty" doc:"Left out, a new webhook is enabled, and another one stays as it is."`
	KeyID       string   `json:"keyId,omitempty" doc:"A key that answers questions. Deliveries of question.asked then contain a link with which it answers, if it may. Needs the server option --public-url."`

	ID             any `json:"id,omitempty" readOnly:"true"`
	DisabledReason any `json:"disabledReason,omitempty" readOnly:"true"`
	OldSecretUntil any `json:"oldSecretUntil,omitempty" readOnly:"true"`
	CreatedAt      any `json:"createdAt,omitempty" readOnly:"true"`
	UpdatedAt      any `json:"updatedAt,omitempty" readOnly:"true"`
	Version        any `json:"version,omitempty" readOnly:"true"`
}

func (b webhookBody) request() (perdure.WebhookRequest, error) {
	r := perdure.WebhookRequest{URL: b.URL, Events: b.Events, Description: b.Description, Enabled: b.Enabled}
	if b.KeyID == "" {
		return r, nil
	}
	id, err := uuid.Parse(b.KeyID)
	if err != nil {
		return r, perdure.FieldErrorf("keyId", "is not the id of a key; perdure keys list shows them")
	}
	r.KeyID = &id
	return r, nil
}

type createWebhookInput struct {
	operation.OrgInput
	Body webhookBody
}

type putWebhookInput struct {
	operation.IDInput
	IfMatch string `header:"If-Match" doc:"The version that is to be replaced; another one is answered with conflict."`
	Body    webhookBody
}

type rotateWebhookInput struct {
	operation.IDInput
	Body *struct {
		DropOld bool `json:"dropOld,omitempty" doc:"Makes no new secret, and ends the use of the old one now."`
	}
}

// newWebhook is a webhook that was just created, together with its secret.
type newWebhook struct {
	perdure.Webhook
	Secret string `json:"secret,omitempty" doc:"The secret that signs deliveries, as Standard Webhooks writes it. It is not shown again."`
}

type webhookOutput[T any] struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     T
}

func webhookReply(w *perdure.Webhook) *webhookOutput[*perdure.Webhook] {
	return &webhookOutput[*perdure.Webhook]{ETag: webhookTag(w), Body: w}
}

func webhookTag(w *perdure.Webhook) string { return strconv.Quote(strconv.FormatInt(w.Version, 10)) }

func (s *server) createWebhook(ctx context.Context, in *createWebhookInput) (*webhookOutput[newWebhook], error) {
	r, err := in.Body.request()
	if err != nil {
		return nil, err
	}
	w, secret, err := s.Engine.CreateWebhook(ctx, in.Org, r)
	if err != nil {
		return nil, err
	}
	return &webhookOutput[newWebhook]{
		Location: fmt.Sprintf("/api/orgs/%s/webhooks/%s", in.Org, w.ID), ETag: webhookTag(w), Body: newWebhook{*w, secret},
	}, nil
}

func (s *server) listWebhooks(ctx context.Context, in *operation.OrgInput) (*operation.Body[operation.List[*perdure.Webhook]], error) {
	all, err := s.readWhole().Webhooks(ctx, in.Org)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(all, ""), nil
}

func (s *server) getWebhook(ctx context.Context, in *operation.IDInput) (*webhookOutput[*perdure.Webhook], error) {
	id, err := in.Of("webhook")
	if err != nil {
		return nil, err
	}
	w, err := s.readWhole().Webhook(ctx, in.Org, id)
	if err != nil {
		return nil, err
	}
	return webhookReply(w), nil
}

func (s *server) putWebhook(ctx context.Context, in *putWebhookInput) (*webhookOutput[*perdure.Webhook], error) {
	id, err := in.Of("webhook")
	if err != nil {
		return nil, err
	}
	version, err := versionOf(in.IfMatch)
	if err != nil {
		return nil, err
	}
	r, err := in.Body.request()
	if err != nil {
		return nil, err
	}
	w, err := s.Engine.ReplaceWebhook(ctx, in.Org, id, version, r)
	if err != nil {
		return nil, err
	}
	return webhookReply(w), nil
}

func (s *server) deleteWebhook(ctx context.Context, in *operation.IDInput) (*operation.Nothing, error) {
	id, err := in.Of("webhook")
	if err != nil {
		return nil, err
	}
	_, err = s.Engine.DeleteWebhook(ctx, in.Org, id)
	return nil, err
}

func (s *server) rotateWebhook(ctx context.Context, in *rotateWebhookInput) (*webhookOutput[newWebhook], error) {
	id, err := in.Of("webhook")
	if err != nil {
		return nil, err
	}
	var w *perdure.Webhook
	secret := ""
	if in.Body != nil && in.Body.DropOld {
		w, err = s.Engine.DropOldSecret(ctx, in.Org, id)
	} else {
		w, secret, err = s.Engine.RotateWebhook(ctx, in.Org, id)
	}
	if err != nil {
		return nil, err
	}
	return &webhookOutput[newWebhook]{ETag: webhookTag(w), Body: newWebhook{*w, secret}}, nil
}

func (s *server) testWebhook(ctx context.Context, in *operation.IDInput) (*operation.Body[*perdure.Delivery], error) {
	id, err := in.Of("webhook")
	if err != nil {
		return nil, err
	}
	d, err := s.Engine.TestWebhook(ctx, in.Org, id)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(d), nil
}

type listDeliveriesInput struct {
	operation.IDInput
	operation.PageInput
	Status perdure.DeliveryStatus `query:"status" enum:"pending,delivered,dead" doc:"Only deliveries with this status."`
}

func (s *server) listDeliveries(ctx context.Context, in *listDeliveriesInput) (*operation.Body[operation.List[*perdure.Delivery]], error) {
	id, err := in.Of("webhook")
	if err != nil {
		return nil, err
	}
	if _, err := s.readWhole().Webhook(ctx, in.Org, id); err != nil {
		return nil, err
	}
	page, err := s.readWhole().Deliveries(ctx, store.DeliveryQuery{Org: in.Org, Webhook: id, Status: in.Status, Cursor: in.Cursor, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	return operation.ListOf(page.Items, page.Next), nil
}

type deliveryInput struct {
	operation.IDInput
	DeliveryID string `path:"deliveryId" doc:"The id of the delivery, which is its webhook-id."`
}

func (i deliveryInput) key() (k store.DeliveryKey, err error) {
	var webhook, id uuid.UUID
	if webhook, err = i.Of("webhook"); err != nil {
		return k, err
	}
	id, err = front.ParseID("delivery", i.DeliveryID)
	return store.DeliveryKey{Webhook: webhook, ID: id}, err
}

func (s *server) getDelivery(ctx context.Context, in *deliveryInput) (*operation.Body[*perdure.Delivery], error) {
	k, err := in.key()
	if err != nil {
		return nil, err
	}
	if _, err := s.readWhole().Webhook(ctx, in.Org, k.Webhook); err != nil {
		return nil, err
	}
	d, err := s.readWhole().Delivery(ctx, in.Org, k)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(d), nil
}

func (s *server) resendDelivery(ctx context.Context, in *deliveryInput) (*operation.Body[*perdure.Delivery], error) {
	k, err := in.key()
	if err != nil {
		return nil, err
	}
	d, err := s.Engine.Resend(ctx, in.Org, k)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(d), nil
}
