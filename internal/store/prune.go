package store

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Prune is one step of a deletion of old data. The first step marks the data, so that readers and
// commands no longer see it. Each later step, which PickPruned finds, deletes a limited number of
// marked rows. So no transaction is large, and a deletion continues after a crash.
type Prune struct {
	// Execution marks the whole execution as deleted.
	Execution bool
	// Log marks all records of the execution's log, except the last one, as deleted. The execution
	// must have ended.
	Log bool
	// Checkpoints deletes checkpoints that were made at this time or earlier, at most Rows of them.
	// The newest checkpoint is never deleted.
	Checkpoints *perdure.Time
	// Rows is the approximate maximum number of marked rows to delete.
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
	// OlderThan, if set, selects the executions that ended at least that long ago, regardless of
	// the retention policies. It applies to executions only.
	OlderThan *time.Duration
	// Status and DefinitionID narrow the selection of executions. They have no effect on other kinds
	// of data.
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
	// Since is when the execution ended. For PruneCheckpoints, it is when the oldest checkpoint to
	// prune was made.
	Since perdure.Time
	// Count is the number of checkpoints that may be pruned. It is 1 for other kinds of data.
	Count int64
	// Bytes is the size of the content that pruning deletes.
	Bytes int64
}
