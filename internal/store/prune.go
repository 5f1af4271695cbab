package store

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Prune is one step of a deletion. The first step marks what is to be deleted: readers and commands
// no longer see it. Later steps delete the marked rows, a limited number per step, as PickPruned
// finds them. So no transaction is large, and a crash between steps loses nothing.
type Prune struct {
	// Execution marks the whole execution as deleted.
	Execution bool
	// Log marks all records of the log except the last one. The execution must have ended.
	Log bool
	// Checkpoints deletes checkpoints that were made at that time or earlier, at most Rows of them.
	// It never deletes the newest one.
	Checkpoints *perdure.Time
	// Rows deletes marked rows, at most about that many.
	Rows int
}

// PruneKind is a kind of prunable data.
type PruneKind string

const (
	PruneExecutions  PruneKind = "executions"
	PruneCheckpoints PruneKind = "checkpoints"
	PruneLogs        PruneKind = "logs"
)

// PruneQuery selects what may be pruned.
type PruneQuery struct {
	Kind PruneKind
	Org  string
	// OlderThan, if set, replaces the retention policies. It applies to executions only.
	OlderThan *time.Duration
	// Status and DefinitionID narrow the selection. They apply to executions only.
	Status       []perdure.Status
	DefinitionID *uuid.UUID
	Cursor       string
	Limit        int
}

// Prunable is an execution that has data to prune.
type Prunable struct {
	ID     uuid.UUID
	Org    string
	Kind   string
	Status perdure.Status
	// Since is when the execution ended, or when its oldest checkpoint was made.
	Since perdure.Time
	// Count is the number of checkpoints that may be pruned; 1 for the other kinds.
	Count int64
	// Bytes is the size of the content that pruning deletes.
	Bytes int64
}
