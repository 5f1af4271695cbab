// Package tenants implements the commands on orgs and on the data of an org that belongs to no
// execution: API keys, browser sessions, webhooks and their deliveries, retention policies, and the
// secret of the installation. It caches the rows that every request needs, such as orgs and API
// keys. A change on any server applies on all servers within five seconds.
package tenants

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Store is the part of a store that [Tenants] uses.
type Store interface {
	store.TenantReader
	QueuePauses(ctx context.Context, org string) ([]*perdure.QueuePause, error)
	OldDeliveries(ctx context.Context, now perdure.Time) (bool, error)
	Now() perdure.Time
}

// Tenants implements the commands on orgs and their data. [New] creates one.
type Tenants struct {
	store Store
	// one runs a command on the store, and returns the command's result (rules.Decision.Value).
	one      func(context.Context, store.Command) (any, error)
	keys     rowCache[perdure.Hash, perdure.APIKey]
	rates    requestRates
	orgs     orgCache
	secret   secretCache
	sessions rowCache[perdure.Hash, perdure.Session]
	webhooks WebhookPolicy
	pauses   pauseCache
}

// New creates a Tenants on a store. The function `one` runs a command and returns the command's
// result (rules.Decision.Value).
func New(s Store, one func(context.Context, store.Command) (any, error)) *Tenants {
	return &Tenants{store: s, one: one}
}
