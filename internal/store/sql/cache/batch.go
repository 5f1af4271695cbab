package cache

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Batch holds the rows of the executions that a transaction has read or written, for later commands
// of its batch.
type Batch struct {
	Rows map[uuid.UUID]load.ExecutionRow
	// cache holds rows of earlier transactions. tasks are the rows of open tasks that this
	// transaction has read or written; a nil row is a task that has ended. Both are nil without a
	// cache.
	cache *RowCache
	tasks map[uuid.UUID]map[uuid.UUID]*load.TaskRow
	// begun lists executions that this transaction has inserted; blocks those for which it has
	// written blocks. Both are used only with a cache.
	begun, blocks map[uuid.UUID]struct{}
	// open lists the open blocks that this transaction has read or written. It is used only with a
	// cache.
	open map[uuid.UUID]blockRows
	// hooks are the webhooks that this transaction has read.
	hooks webhookReads
}

// NewBatch returns the rows of a transaction that has read none.
func NewBatch() *Batch { return &Batch{Rows: map[uuid.UUID]load.ExecutionRow{}} }

// Row returns an execution's row. The row is nil if there is none.
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
