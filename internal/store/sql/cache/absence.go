package cache

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// everything lists all tasks of an execution and says whether the execution has blocks. It exists
// only for an execution that was cached at its creation. For such an execution, no query is needed
// to learn that a task or a block does not exist.
type everything struct {
	tasks  map[uuid.UUID]struct{} // contains all tasks that may exist
	blocks bool                   // reports whether blocks may exist
}

const (
	// everyTask is the maximum number of tasks in the field everything.tasks. taskKnown is the size,
	// in bytes, that the cache assumes for each of these tasks.
	everyTask = 1000
	taskKnown = 48
)

// Began records that the transaction has inserted the execution, so the execution has no older
// tasks and blocks.
func (t *Batch) Began(id uuid.UUID) {
	if t.cache != nil {
		t.begun[id] = struct{}{}
	}
}

// WroteBlocks records that the transaction has written blocks of the execution.
func (t *Batch) WroteBlocks(id uuid.UUID) {
	if t.cache != nil {
		t.blocks[id] = struct{}{}
	}
}

func (t *Batch) everything(execution uuid.UUID) *everything {
	if t.cache == nil {
		return nil
	}
	if x := t.cache.get(execution); x != nil {
		return x.all
	}
	return nil
}

// hasNot reports whether the execution certainly has no such task, not even one that this
// transaction has written. If it returns false, the task may exist.
func (t *Batch) hasNot(execution, task uuid.UUID) bool {
	all := t.everything(execution)
	if all == nil {
		return false
	}
	_, there := all.tasks[task]
	return !there
}

// Blockless reports whether the execution certainly has no blocks. If it returns false, blocks may
// exist.
func (t *Batch) Blockless(execution uuid.UUID) bool {
	all := t.everything(execution)
	_, wrote := t.blocks[execution]
	return all != nil && !all.blocks && !wrote
}

// learns adds to x.all the tasks and blocks that the transaction has written for the execution.
func (x *cachedExecution) learns(t *Batch, id uuid.UUID) {
	if _, begun := t.begun[id]; begun {
		x.all = &everything{tasks: map[uuid.UUID]struct{}{}}
	}
	if x.all == nil {
		return
	}
	for task := range t.tasks[id] {
		x.all.tasks[task] = struct{}{}
	}
	if _, wrote := t.blocks[id]; wrote {
		x.all.blocks = true
	}
	if len(x.all.tasks) > everyTask {
		x.all = nil
	}
}

var (
	tasksOfExecution = statement.Read("SELECT id FROM task_execution WHERE agent_execution_id = ?")
	anyBlock         = statement.Read("SELECT 1 FROM log_block WHERE agent_execution_id = ? LIMIT 1")
)

// compareEverything returns an error if the execution has a task or a block that `all` does not
// contain.
func compareEverything(v statement.View, id uuid.UUID, all *everything) error {
	if all == nil {
		return nil
	}
	err := v.Each(tasksOfExecution, []any{id[:]}, func(row func(...any) error) error {
		var task uuid.UUID
		if err := row(&task); err != nil {
			return err
		}
		if _, there := all.tasks[task]; !there {
			return fmt.Errorf("execution %s is known not to have the task %s", id, task)
		}
		return nil
	})
	if err != nil || all.blocks {
		return err
	}
	found, err := v.One(anyBlock, []any{id[:]}, new(int64))
	if err == nil && found {
		err = fmt.Errorf("execution %s is known not to have blocks", id)
	}
	return err
}
