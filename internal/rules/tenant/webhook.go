package tenant

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// CreateWebhook stores a new webhook. The command's result is the webhook's row. Errors:
// invalid_argument; conflict, if the org has the maximum number of webhooks.
func CreateWebhook(s *store.State, by Change, w perdure.Webhook) (*store.Changes, error) {
	if s.WebhookCount >= perdure.MaxWebhooks {
		return nil, perdure.Errorf(perdure.Conflict, "the org has %d webhooks, and no more are allowed; delete one", s.WebhookCount)
	}
	if err := checkBound(s, w.KeyID); err != nil {
		return nil, err
	}
	w.CreatedAt, w.UpdatedAt, w.Version = s.Now, s.Now, 1
	row := w
	return &store.Changes{Webhook: &row, Audit: by.webhook(s.Now, nil, &row), Answer: &rules.Decision{Value: &w}}, nil
}

// ReplaceWebhook replaces the settings of a webhook. If version is not 0, the webhook must have
// this version. The command's result is the webhook's new row. Errors: not_found, conflict,
// invalid_argument.
func ReplaceWebhook(s *store.State, by Change, id uuid.UUID, version int64, r perdure.WebhookRequest) (*store.Changes, error) {
	if s.Webhook != nil && !sameID(s.Webhook.KeyID, r.KeyID) {
		if err := checkBound(s, r.KeyID); err != nil {
			return nil, err
		}
	}
	return changeWebhook(s, by, id, version, func(w *perdure.Webhook) {
		w.URL, w.Events, w.Description, w.KeyID = r.URL, r.Events, r.Description, r.KeyID
		if r.Enabled != nil && w.Enabled != *r.Enabled {
			w.Enabled, w.DisabledReason = *r.Enabled, ""
		}
	})
}

// RotateWebhook replaces the secret of a webhook. For perdure.OldSecretLife, deliveries are also
// signed with the previous secret. The command's result is the webhook's new row. Errors:
// not_found.
func RotateWebhook(s *store.State, by Change, id uuid.UUID, secret string) (*store.Changes, error) {
	return changeWebhook(s, by, id, 0, func(w *perdure.Webhook) {
		until := s.Now.Add(perdure.OldSecretLife)
		w.OldSecret, w.OldSecretUntil, w.Secret = w.Secret, &until, secret
	})
}

// DropOldSecret deletes the secret that a webhook had before its last rotation. The command's
// result is the webhook's new row. Errors: not_found.
func DropOldSecret(s *store.State, by Change, id uuid.UUID) (*store.Changes, error) {
	return changeWebhook(s, by, id, 0, func(w *perdure.Webhook) { w.OldSecret, w.OldSecretUntil = "", nil })
}

func changeWebhook(s *store.State, by Change, id uuid.UUID, version int64, change func(w *perdure.Webhook)) (*store.Changes, error) {
	if s.Webhook == nil {
		return nil, noWebhook(id)
	}
	before, w := *s.Webhook, s.Webhook
	if version != 0 && version != w.Version {
		return nil, perdure.Errorf(perdure.Conflict, "the webhook has version %d, not %d; read it again", w.Version, version)
	}
	change(w)
	answer := &rules.Decision{Value: w}
	if sameWebhook(&before, w) {
		return &store.Changes{Answer: answer}, nil
	}
	w.UpdatedAt, w.Version = s.Now, w.Version+1
	if w.Enabled && !before.Enabled {
		answer.Hints = []rules.Hint{{Kind: rules.HintDeliveries}}
	}
	return &store.Changes{Webhook: w, Audit: by.webhook(s.Now, &before, w), Answer: answer}, nil
}

func sameWebhook(a, b *perdure.Webhook) bool {
	return a.URL == b.URL && slices.Equal(a.Events, b.Events) && a.Description == b.Description && a.Enabled == b.Enabled &&
		sameID(a.KeyID, b.KeyID) && a.DisabledReason == b.DisabledReason && a.Secret == b.Secret && a.OldSecret == b.OldSecret
}

func sameID(a, b *uuid.UUID) bool { return a == b || a != nil && b != nil && *a == *b }

// checkBound checks that a webhook may be bound to an API key. A nil key means that it is bound to
// none. Errors: invalid_argument.
func checkBound(s *store.State, key *uuid.UUID) error {
	if key == nil {
		return nil
	}
	return rules.CheckLinkKey(s.Key, *key)
}

// DeleteWebhook deletes a webhook and its secrets. Its deliveries are deleted later, step by step.
// The command's result is the webhook's row before the deletion. Errors: not_found.
func DeleteWebhook(s *store.State, by Change, id uuid.UUID) (*store.Changes, error) {
	if s.Webhook == nil {
		return nil, noWebhook(id)
	}
	before, w := *s.Webhook, s.Webhook
	now := s.Now
	w.DeletedAt, w.Enabled, w.Secret, w.OldSecret, w.OldSecretUntil = &now, false, "", "", nil
	return &store.Changes{Webhook: w, Audit: by.webhook(s.Now, &before, w), Answer: &rules.Decision{Value: &before}}, nil
}

// DisableOverdue disables a webhook that has too many waiting deliveries; the deliveries become
// dead. The command's result is the webhook's new row. If the webhook no longer has too many
// waiting deliveries, or is already disabled, the changes are nil.
func DisableOverdue(s *store.State, by Change) (*store.Changes, error) {
	if s.Webhook == nil || !s.Webhook.Enabled || s.Waiting <= perdure.MaxUndelivered {
		return nil, nil
	}
	return disable(s, by, "it had more than 10,000 undelivered events"), nil
}

// disable disables the webhook, and stores the reason.
func disable(s *store.State, by Change, why string) *store.Changes {
	before, w := *s.Webhook, s.Webhook
	w.Enabled, w.DisabledReason, w.UpdatedAt, w.Version = false, why, s.Now, w.Version+1
	id := w.ID
	return &store.Changes{Webhook: w, Deaden: &id, Audit: by.webhook(s.Now, &before, w), Answer: &rules.Decision{Value: w}}
}

func noWebhook(id uuid.UUID) error {
	return perdure.Errorf(perdure.NotFound, "there is no webhook %s", id)
}
