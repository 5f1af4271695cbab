package relational

import (
	"fmt"

	"github.com/google/uuid"
)

// everything is what is known of an execution that has been kept since it began,
// so that what it does not have need not be looked for. It never says that
// something is there, only what cannot be.
type everything struct {
	tasks  map[uuid.UUID]struct{} // all there may be
	blocks bool                   // there may be some
}

const (
	// everyTask bounds how many tasks of an execution are known; taskKnown is what
	// one takes.
	everyTask = 1000
	taskKnown = 48
)

// began notes an execution that the transaction has inserted, before which
// nothing of it can have been.
func (t *Transaction) began(id uuid.UUID) {
	if t.kept != nil {
		t.begun[id] = struct{}{}
	}
}

// wroteBlocks notes that an execution has blocks.
func (t *Transaction) wroteBlocks(id uuid.UUID) {
	if t.kept != nil {
		t.blocks[id] = struct{}{}
	}
}

func (t *Transaction) everything(execution uuid.UUID) *everything {
	if t.kept == nil {
		return nil
	}
	if x := t.kept.get(execution); x != nil {
		return x.all
	}
	return nil
}

// hasNot tells that the execution has no such task; false is no answer. The
// transaction has not written one either.
func (t *Transaction) hasNot(execution, task uuid.UUID) bool {
	all := t.everything(execution)
	if all == nil {
		return false
	}
	_, there := all.tasks[task]
	return !there
}

// blockless tells that the execution has no blocks; false is no answer.
func (t *Transaction) blockless(execution uuid.UUID) bool {
	all := t.everything(execution)
	_, wrote := t.blocks[execution]
	return all != nil && !all.blocks && !wrote
}

// learns adds what the transaction has done to the execution.
func (x *keptExecution) learns(t *Transaction, id uuid.UUID) {
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

// compareEverything tells what the execution has that it is known not to have.
func compareEverything(v view, id uuid.UUID, all *everything) error {
	if all == nil {
		return nil
	}
	err := v.each("SELECT id FROM task_execution WHERE agent_execution_id = ?", []any{id[:]}, func(row func(...any) error) error {
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
	found, err := v.one("SELECT 1 FROM log_block WHERE agent_execution_id = ? LIMIT 1", []any{id[:]}, new(int64))
	if err == nil && found {
		err = fmt.Errorf("execution %s is known not to have blocks", id)
	}
	return err
}
