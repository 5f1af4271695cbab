package relational

import (
	"fmt"

	"github.com/google/uuid"
)

// everything is what is known of an execution that has been cached since it was created. It saves
// queries for what the execution cannot have. It never proves that something exists, only that
// something does not exist.
type everything struct {
	tasks  map[uuid.UUID]struct{} // all tasks that may exist
	blocks bool                   // blocks may exist
}

const (
	// everyTask is the maximum number of known tasks of an execution. taskKnown is the size of one.
	everyTask = 1000
	taskKnown = 48
)

// began records that the transaction has inserted the execution, so nothing of it was stored
// before.
func (t *Transaction) began(id uuid.UUID) {
	if t.kept != nil {
		t.begun[id] = struct{}{}
	}
}

// wroteBlocks records that an execution has blocks.
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

// hasNot reports whether it is certain that the execution has no such task, not even one that this
// transaction wrote. false means that it is unknown.
func (t *Transaction) hasNot(execution, task uuid.UUID) bool {
	all := t.everything(execution)
	if all == nil {
		return false
	}
	_, there := all.tasks[task]
	return !there
}

// blockless reports whether it is certain that the execution has no blocks. false means that it is
// unknown.
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

// compareEverything returns an error if the execution has something that everything rules out.
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
