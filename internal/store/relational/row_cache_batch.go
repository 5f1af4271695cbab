package relational

import (
	"github.com/google/uuid"
)

// batchRows are the rows of the executions that a transaction has read or written. It keeps them
// for later commands of its batch.
type batchRows struct {
	rows map[uuid.UUID]loadedExecution
	// cache holds rows of earlier transactions. tasks are the rows of open tasks that this
	// transaction has read or written; a nil row is a task that has ended. Both are nil without a
	// cache.
	cache *RowCache
	tasks map[uuid.UUID]map[uuid.UUID]*taskRow
	// begun lists executions that this transaction has inserted; blocks those for which it has
	// written blocks. Both are used only with a cache.
	begun, blocks map[uuid.UUID]struct{}
	// open lists the open blocks that this transaction has read or written. It is used only with a
	// cache.
	open map[uuid.UUID]blockRows
}

// newBatchRows returns the rows of a transaction that has read none.
func newBatchRows() *batchRows { return &batchRows{rows: map[uuid.UUID]loadedExecution{}} }

// row returns an execution's row. The row is nil if there is none.
func (t *batchRows) row(v view, id uuid.UUID) (loadedExecution, error) {
	if id == uuid.Nil {
		return loadedExecution{}, nil
	}
	if l, ok := t.rows[id]; ok {
		return l, nil
	}
	if t.cache != nil {
		if x := t.cache.get(id); x != nil {
			t.rows[id] = x.loaded
			return x.loaded, nil
		}
	}
	l, err := loadExecution(v, id)
	if err == nil && l.row != nil {
		t.rows[id] = l
	}
	return l, err
}
