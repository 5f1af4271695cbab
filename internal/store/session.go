package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// SessionQuery selects sessions of an org that expire after Now.
type SessionQuery struct {
	Org string
	Now perdure.Time
	// Key, if not nil, selects only the sessions of that key's secret.
	Key *perdure.Hash
	// Operator also selects the sessions of data directories' tokens. It applies only without Key.
	Operator bool
	After    uuid.UUID // only sessions with greater ids
	Limit    int
}
