package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// SessionQuery asks for sessions of an org that expire after Now.
type SessionQuery struct {
	Org string
	Now perdure.Time
	// Key, if not nil, asks for the sessions of that key's secret alone.
	Key *perdure.Hash
	// Operator asks, without Key, for those of data directories' tokens, too.
	Operator bool
	After    uuid.UUID // their ids are greater
	Limit    int
}
