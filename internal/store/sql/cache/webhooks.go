package cache

import (
	"fmt"
	"reflect"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load/tenant"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// maxWebhookOrgs is the maximum number of orgs whose webhooks are cached.
const maxWebhookOrgs = 10_000

// Webhooks caches the enabled webhooks of orgs at one revision. The revision is a random number;
// every transaction that changes a webhook stores a new one. The cached lists are current if the
// stored revision is still the same. Webhooks is safe for concurrent use.
type Webhooks struct {
	mu       sync.Mutex // guards the other fields
	known    bool       // the field revision is valid
	revision int64
	lists    map[string][]*perdure.Webhook // lists of webhooks by org
}

// Clear drops all lists and the revision.
func (k *Webhooks) Clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known, k.revision, k.lists = false, 0, nil
}

// get returns the webhooks of an org at a revision. The result `ok` is false if they are not
// cached.
func (k *Webhooks) get(revision int64, org string) (list []*perdure.Webhook, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.known || k.revision != revision {
		return nil, false
	}
	list, ok = k.lists[org]
	return list, ok
}

// put adds lists that a committed transaction has read at the revision.
func (k *Webhooks) put(revision int64, lists map[string][]*perdure.Webhook) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.known || revision != k.revision || len(k.lists)+len(lists) > maxWebhookOrgs {
		k.known, k.revision, k.lists = true, revision, map[string][]*perdure.Webhook{}
	}
	for org, list := range lists {
		k.lists[org] = list
	}
}

func (k *Webhooks) revisionIfKnown() (revision int64, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.revision, k.known
}

// webhookReads contains the webhooks that one transaction has read.
type webhookReads struct {
	cache    *Webhooks // may be nil
	revision int64
	known    bool // the field revision is valid
	changed  bool // the transaction has changed a webhook
	lists    map[string][]*perdure.Webhook
}

// UseWebhooks sets the cache that the method Webhooks of the batch uses.
func (t *Batch) UseWebhooks(k *Webhooks) { t.hooks.cache = k }

// WebhooksAt sets the current revision of the webhooks. The transaction must have read it after the
// arrival of its commands.
func (t *Batch) WebhooksAt(revision int64) { t.hooks.revision, t.hooks.known = revision, true }

// ChangedWebhooks records that the transaction has changed a webhook.
func (t *Batch) ChangedWebhooks() { t.hooks.changed = true }

// Webhooks returns the enabled webhooks of an org. It reads nothing if the store has never had a
// webhook, or if the list is cached for the current revision.
func (t *Batch) Webhooks(v statement.View, org string) ([]*perdure.Webhook, error) {
	h := &t.hooks
	if h.changed {
		return readWebhooks(v, org)
	}
	if !h.known {
		if err := h.learn(v); err != nil {
			return nil, err
		}
	}
	if h.revision == 0 {
		return nil, nil
	}
	if list, ok := h.lists[org]; ok {
		return list, nil
	}
	if h.cache != nil {
		if list, ok := h.cache.get(h.revision, org); ok {
			return list, nil
		}
	}
	list, err := readWebhooks(v, org)
	if err != nil {
		return nil, err
	}
	if h.lists == nil {
		h.lists = map[string][]*perdure.Webhook{}
	}
	h.lists[org] = list
	return list, nil
}

// learn sets h.revision to the current revision. It prefers the revision of the cache to the stored
// one; the cache's revision is correct only in a store without other writers.
func (h *webhookReads) learn(v statement.View) error {
	if h.cache != nil {
		if h.revision, h.known = h.cache.revisionIfKnown(); h.known {
			return nil
		}
	}
	_, err := v.One(tenant.WebhookRevision, nil, &h.revision)
	h.known = err == nil
	return err
}

// settle adds to the cache the lists of webhooks that the transaction has read. It is called after
// the transaction is committed.
func (h *webhookReads) settle() {
	switch {
	case h.cache == nil || !h.known && !h.changed:
	case h.changed:
		h.cache.Clear()
	default:
		h.cache.put(h.revision, h.lists)
	}
}

func readWebhooks(v statement.View, org string) (enabled []*perdure.Webhook, err error) {
	all, err := tenant.WebhookRows.All(v, tenant.WebhooksOfOrg, org)
	for _, w := range all {
		if w.Enabled {
			enabled = append(enabled, w)
		}
	}
	return enabled, err
}

// compareWebhooks returns an error if the cached webhooks differ from the stored ones.
func compareWebhooks(v statement.View, k *Webhooks) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.known {
		return nil
	}
	var revision int64
	if _, err := v.One(tenant.WebhookRevision, nil, &revision); err != nil {
		return err
	}
	if revision != k.revision {
		return fmt.Errorf("the revision of the webhooks is kept as %d and stored as %d", k.revision, revision)
	}
	for org, kept := range k.lists {
		stored, err := readWebhooks(v, org)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(kept, stored) {
			return fmt.Errorf("the webhooks of %s are kept as %v and stored as %v", org, kept, stored)
		}
	}
	return nil
}
