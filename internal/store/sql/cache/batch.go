package cache

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Batch contains the rows of the executions that a transaction has read or written. Later commands
// of the same batch use them.
type Batch struct {
	Rows map[uuid.UUID]load.ExecutionRow
	// The field `cache` contains rows of earlier transactions. The field `tasks` contains the rows
	// of open tasks that this transaction has read or written; a nil row stands for a task that has
	// ended. If caching is turned off, both are nil.
	cache *RowCache
	tasks map[uuid.UUID]map[uuid.UUID]*load.TaskRow
	// The field `begun` contains the executions that this transaction has inserted. The field
	// `blocks` contains the executions whose blocks it has written. Both are used only with a
	// cache.
	begun, blocks map[uuid.UUID]struct{}
	// open contains the open blocks that this transaction has read or written, by execution. It is
	// used only with a cache.
	open map[uuid.UUID]blockRows
	// hooks are the webhooks that this transaction has read.
	hooks webhookReads
}

// NewBatch returns an empty Batch.
func NewBatch() *Batch { return &Batch{Rows: map[uuid.UUID]load.ExecutionRow{}} }

// Row returns the row of an execution. If there is none, the field Row of the result is nil.
func (t *Batch) Row(v statement.View, id uuid.UUID) (load.ExecutionRow, error) {
	if id == uuid.Nil {
		return load.ExecutionRow{}, nil
	}
	if l, ok := t.Rows[id]; ok {
		return l, nil
	}
	if t.cache != nil {
		if x := t.cache.get(id); x != nil {
			t.Rows[id] = x.loaded
			return x.loaded, nil
		}
	}
	l, err := loadExecution(v, id)
	if err == nil && l.Row != nil {
		t.Rows[id] = l
	}
	return l, err
}
