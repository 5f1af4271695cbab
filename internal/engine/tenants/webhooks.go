package tenants

import (
	"context"
	"crypto/rand"
	"encoding/base64"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules/tenant"
	"github.com/perdure/perdure/internal/sealed"
	"github.com/perdure/perdure/internal/store"
)

const (
	// webhookPurpose is the purpose of the [sealed.Box] that encrypts the secrets of webhooks.
	webhookPurpose = "webhook"
	// webhookSecretPrefix is the prefix that the Standard Webhooks specification requires for
	// secrets.
	webhookSecretPrefix = "whsec_"
	webhookSecretBytes  = 32
)

// WebhookPolicy restricts the URLs to which webhooks may send.
type WebhookPolicy struct {
	// Loopback allows http URLs of this machine, for development.
	Loopback bool
}

// WebhookRules sets the policy for the URLs of webhooks. It must be called before the first
// request.
func (t *Tenants) WebhookRules(p WebhookPolicy) { t.webhooks = p }

// CreateWebhook creates a webhook. It returns the webhook and its secret; no other call returns
// this secret. Errors: invalid_argument, conflict.
func (t *Tenants) CreateWebhook(ctx context.Context, org string, r perdure.WebhookRequest) (*perdure.Webhook, string, error) {
	r = r.Normal()
	if err := r.Check(t.webhooks.Loopback); err != nil {
		return nil, "", err
	}
	secret, sealed, err := t.newWebhookSecret(ctx, org)
	if err != nil {
		return nil, "", err
	}
	w := perdure.Webhook{ID: uuid.Must(uuid.NewV7()), Org: org, URL: r.URL, Events: r.Events, Description: r.Description, Enabled: r.Enabled == nil || *r.Enabled, Secret: sealed, KeyID: r.KeyID}
	made, err := t.changeWebhook(ctx, org, perdure.AuditWebhookCreated, store.Needs{WebhookCount: true, KeyID: r.KeyID}, func(s *store.State, by tenant.Change) (*store.Changes, error) {
		return tenant.CreateWebhook(s, by, w)
	})
	return made, secret, err
}

// ReplaceWebhook replaces the settings of a webhook. If version is not 0, the webhook must have
// this version. Errors: invalid_argument, not_found, conflict.
func (t *Tenants) ReplaceWebhook(ctx context.Context, org string, id uuid.UUID, version int64, r perdure.WebhookRequest) (*perdure.Webhook, error) {
	r = r.Normal()
	if err := r.Check(t.webhooks.Loopback); err != nil {
		return nil, err
	}
	return t.changeWebhook(ctx, org, perdure.AuditWebhookChanged, store.Needs{Webhook: &id, KeyID: r.KeyID}, func(s *store.State, by tenant.Change) (*store.Changes, error) {
		return tenant.ReplaceWebhook(s, by, id, version, r)
	})
}

// RotateWebhook gives a webhook a new secret, and returns the webhook and the new secret. For a
// day, deliveries are also signed with the previous secret. Errors: not_found.
func (t *Tenants) RotateWebhook(ctx context.Context, org string, id uuid.UUID) (*perdure.Webhook, string, error) {
	secret, sealed, err := t.newWebhookSecret(ctx, org)
	if err != nil {
		return nil, "", err
	}
	w, err := t.changeWebhook(ctx, org, perdure.AuditWebhookRotated, store.Needs{Webhook: &id}, func(s *store.State, by tenant.Change) (*store.Changes, error) {
		return tenant.RotateWebhook(s, by, id, sealed)
	})
	return w, secret, err
}

// DropOldSecret ends the use of the secret that a webhook had before its last rotation. Errors:
// not_found.
func (t *Tenants) DropOldSecret(ctx context.Context, org string, id uuid.UUID) (*perdure.Webhook, error) {
	return t.changeWebhook(ctx, org, perdure.AuditWebhookRotated, store.Needs{Webhook: &id}, func(s *store.State, by tenant.Change) (*store.Changes, error) {
		return tenant.DropOldSecret(s, by, id)
	})
}

// DeleteWebhook deletes a webhook and its deliveries. Errors: not_found.
func (t *Tenants) DeleteWebhook(ctx context.Context, org string, id uuid.UUID) (*perdure.Webhook, error) {
	return t.changeWebhook(ctx, org, perdure.AuditWebhookDeleted, store.Needs{Webhook: &id}, func(s *store.State, by tenant.Change) (*store.Changes, error) {
		return tenant.DeleteWebhook(s, by, id)
	})
}

// DisableOverdue disables a webhook that has too many waiting deliveries. It returns nil if nothing
// had to change: the webhook no longer has too many, or is already disabled.
func (t *Tenants) DisableOverdue(ctx context.Context, org string, id uuid.UUID) (*perdure.Webhook, error) {
	return t.changeWebhook(ctx, org, perdure.AuditWebhookDisabled, store.Needs{Webhook: &id, Waiting: true}, tenant.DisableOverdue)
}

func (t *Tenants) changeWebhook(ctx context.Context, org string, action perdure.AuditAction, needs store.Needs,
	decide func(*store.State, tenant.Change) (*store.Changes, error),
) (*perdure.Webhook, error) {
	by := tenant.Change{Actor: store.ActorOf(ctx), Org: org, Action: action}
	value, err := t.one(ctx, store.Command{
		Name: string(action), Lane: store.LaneCommits, Org: org,
		Needs:  func(*perdure.Execution) store.Needs { return needs },
		Decide: func(s *store.State) (*store.Changes, error) { return decide(s, by) },
	})
	w, _ := value.(*perdure.Webhook)
	return w, err
}

// newWebhookSecret returns a new secret in the form of Standard Webhooks, and the same secret in
// encrypted form, for the store.
func (t *Tenants) newWebhookSecret(ctx context.Context, org string) (secret, shut string, err error) {
	box, err := t.webhookBox(ctx, org)
	if err != nil {
		return "", "", err
	}
	raw := make([]byte, webhookSecretBytes)
	rand.Read(raw) // never fails
	return webhookSecretPrefix + base64.StdEncoding.EncodeToString(raw), box.Seal(raw), nil
}

func (t *Tenants) webhookBox(ctx context.Context, org string) (*sealed.Box, error) {
	key, err := t.SealingSecret(ctx)
	if err != nil {
		return nil, err
	}
	return sealed.New(key, org, webhookPurpose)
}

// WebhookKeys returns the keys that sign the webhook's deliveries now, the newest first. Errors:
// internal, if a stored secret cannot be decrypted.
func (t *Tenants) WebhookKeys(ctx context.Context, w *perdure.Webhook) ([][]byte, error) {
	box, err := t.webhookBox(ctx, w.Org)
	if err != nil {
		return nil, err
	}
	shut := []string{w.Secret}
	if w.OldSecret != "" && w.OldSecretUntil != nil && !w.OldSecretUntil.Reached(t.store.Now()) {
		shut = append(shut, w.OldSecret)
	}
	var keys [][]byte
	for _, text := range shut {
		key, err := box.Open(text)
		if err != nil {
			return nil, &perdure.Error{Code: perdure.Internal, Message: "a webhook's secret cannot be opened; rotate it", Err: err}
		}
		keys = append(keys, key)
	}
	return keys, nil
}
