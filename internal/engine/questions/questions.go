// Package questions implements questions: the checks of what an execution asks, the policies about
// tool calls, what people and workers see of a question, links to questions, and the checks of
// answers.
package questions

import (
	"context"

	"github.com/perdure/perdure/internal/engine/homes"
	"github.com/perdure/perdure/internal/engine/kinds"
	"github.com/perdure/perdure/internal/store"
)

// Questions implements the commands on questions, and the reads of questions. [New] creates one.
type Questions struct {
	store        store.Store
	refs         store.ClaimReader
	homes        *homes.Homes
	kinds        *kinds.Kinds
	one          func(context.Context, store.Command) (any, error)
	orgWorks     func(ctx context.Context, org string) error
	payloadLimit int64
}

// Config configures a [Questions]. All fields are required.
type Config struct {
	Store store.Store
	// Refs reads the same rows as Store. In place of contents that are stored in blobs, Refs
	// returns references.
	Refs  store.ClaimReader
	Homes *homes.Homes
	Kinds *kinds.Kinds
	// One runs a command on the store, and returns the command's result (rules.Decision.Value).
	One func(context.Context, store.Command) (any, error)
	// OrgWorks returns nil if the org is enabled, and an error if its API keys may not be used.
	OrgWorks func(ctx context.Context, org string) error
	// PayloadLimit is the maximum size of one payload in bytes.
	PayloadLimit int64
}

// New creates a Questions.
func New(c Config) *Questions {
	return &Questions{store: c.Store, refs: c.Refs, homes: c.Homes, kinds: c.Kinds, one: c.One, orgWorks: c.OrgWorks, payloadLimit: c.PayloadLimit}
}
