package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// SessionQuery selects sessions of an org that expire after Now.
type SessionQuery struct {
	Org string
	Now perdure.Time
	// Key, if not nil, is the hash of an API key's secret. Only sessions of that key are selected.
	Key *perdure.Hash
	// Operator also selects sessions that were started with the token of a data directory instead
	// of an API key. It has no effect if Key is set.
	Operator bool
	After    uuid.UUID // only sessions with greater ids
	Limit    int
}
