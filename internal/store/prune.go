package store

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Prune is one step of deleting. What is to go is marked first, in one step,
// and is there for no reader and no command from then on; its rows follow, a
// bounded number a step, picked by PickPruned, so that no transaction is large
// and a crash in between loses nothing.
type Prune struct {
	// Execution marks the whole execution.
	Execution bool
	// Log marks all of the log but the last record. The execution has ended.
	Log bool
	// Checkpoints deletes checkpoints that were made at that time or before, at
	// most Rows of them, never the newest.
	Checkpoints *perdure.Time
	// Rows deletes about that many rows at most of what is marked.
	Rows int
}

// PruneKind says what of executions is looked for.
type PruneKind string

const (
	PruneExecutions  PruneKind = "executions"
	PruneCheckpoints PruneKind = "checkpoints"
	PruneLogs        PruneKind = "logs"
)

// PruneQuery looks for what may be pruned.
type PruneQuery struct {
	Kind PruneKind
	Org  string
	// OlderThan, if set, stands in the place of the policies, for executions.
	OlderThan *time.Duration
	// Status and DefinitionID narrow it, for executions.
	Status       []perdure.Status
	DefinitionID *uuid.UUID
	Cursor       string
	Limit        int
}

// Prunable is an execution of which something may be pruned.
type Prunable struct {
	ID     uuid.UUID
	Org    string
	Kind   string
	Status perdure.Status
	// Since is when the execution ended, or when its oldest checkpoint was made.
	Since perdure.Time
	// Count is how many of the execution's checkpoints; 1 for the other kinds.
	Count int64
	// Bytes is how much content goes.
	Bytes int64
}
