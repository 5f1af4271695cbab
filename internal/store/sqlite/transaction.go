package sqlite

import (
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

type rowID = uuid.UUID

// transaction is one batch being decided and written. It keeps the rows of the
// executions that it has read or written, for the commands that follow.
type transaction struct {
	view
	now     perdure.Time
	logger  *slog.Logger
	careful bool
	erased  bool // something was deleted that must leave the disk soon
	rows    map[rowID]loadedExecution
	freed   bool // pages were given back
}

// candidate is an execution, or a task of it, that a command is about.
type candidate struct {
	execution uuid.UUID
	task      *uuid.UUID
	// key and queue are a pending task's, to decide on its limits.
	key, queue string
}

// run decides one command and writes its changes. A refusal is the outcome's;
// err is one of the store itself, and spoils the transaction.
func (t *transaction) run(c *store.Command) (outcome, error) {
	if c.Pick == nil {
		changes, err := t.decide(c, candidate{execution: c.Execution})
		switch {
		case err != nil && isRefused(err):
			return outcome{err: refusedBy(err)}, nil
		case err != nil:
			return outcome{}, err
		case changes == nil:
			return outcome{answers: []any{nil}}, nil
		}
		return outcome{answers: []any{changes.Answer}}, nil
	}
	candidates, err := pick(t.view, c.Org, c.Pick, t.now)
	if err != nil {
		return outcome{}, err
	}
	var answers []any
	for _, one := range candidates {
		changes, err := t.decideApart(c, one)
		if err != nil && !isRefused(err) {
			return outcome{}, err
		}
		if err != nil {
			t.logger.Warn("a candidate was left out", "command", c.Name, "execution", one.execution, "err", refusedBy(err))
			continue
		}
		if changes != nil {
			answers = append(answers, changes.Answer)
		}
	}
	return outcome{answers: answers}, nil
}

// refused wraps what a decision, not the store, said no with.
type refused struct{ err error }

func (r refused) Error() string { return r.err.Error() }

func isRefused(err error) bool {
	_, ok := err.(refused)
	return ok
}

func refusedBy(err error) error { return err.(refused).err }

// decideApart is decide, in a savepoint of its own where the transaction is
// careful: what fails in the store is then undone alone.
func (t *transaction) decideApart(c *store.Command, one candidate) (*store.Changes, error) {
	if !t.careful {
		return t.decide(c, one)
	}
	if _, err := t.exec("SAVEPOINT candidate"); err != nil {
		return nil, err
	}
	changes, err := t.decide(c, one)
	if err == nil {
		_, err = t.exec("RELEASE candidate")
		return changes, err
	}
	if isFull(err) || isBroken(err) {
		return nil, err
	}
	delete(t.rows, one.execution)
	if _, undoErr := t.exec("ROLLBACK TO candidate"); undoErr != nil {
		return nil, undoErr
	}
	if _, undoErr := t.exec("RELEASE candidate"); undoErr != nil {
		return nil, undoErr
	}
	if isRefused(err) {
		return nil, err
	}
	return nil, refused{err}
}

// decide loads what the command needs of one execution, lets it decide and
// writes what it decided.
func (t *transaction) decide(c *store.Command, one candidate) (*store.Changes, error) {
	l, err := t.row(one.execution)
	if err != nil {
		return nil, err
	}
	if c.Org != "" && l.row != nil && l.row.Org != c.Org {
		l = loadedExecution{}
	}
	needs, err := askNeeds(c, l.row)
	if err != nil {
		return nil, refused{err}
	}
	if c.Pick != nil {
		needs = pickNeeds(c.Pick, one, needs)
	}
	state, known, err := t.load(c.Org, one, l, needs)
	if err != nil {
		return nil, err
	}
	changes, err := askDecision(c, state)
	if err != nil {
		return nil, refused{err}
	}
	if changes == nil {
		return nil, nil
	}
	return changes, t.applySafely(c, one.execution, l, known, changes)
}

// row gives an execution's row, nil inside if there is none.
func (t *transaction) row(id uuid.UUID) (loadedExecution, error) {
	if id == uuid.Nil {
		return loadedExecution{}, nil
	}
	if l, ok := t.rows[id]; ok {
		return l, nil
	}
	l, err := loadExecution(t.view, id)
	if err == nil && l.row != nil {
		t.rows[id] = l
	}
	return l, err
}

func askNeeds(c *store.Command, x *perdure.Execution) (n store.Needs, err error) {
	if c.Needs == nil {
		return n, nil
	}
	defer caught(&err)
	return c.Needs(cloneExecution(x)), nil
}

func askDecision(c *store.Command, s *store.State) (changes *store.Changes, err error) {
	defer caught(&err)
	return c.Decide(s)
}

// applySafely is apply; changes that make it panic, such as a nil row, are that
// command's error alone.
func (t *transaction) applySafely(c *store.Command, execution uuid.UUID, l loadedExecution, known *known, ch *store.Changes) (err error) {
	defer caught(&err)
	return t.apply(c.Org, execution, l, known, ch)
}

func caught(err *error) {
	if p := recover(); p != nil {
		*err = &perdure.Error{Code: perdure.Internal, Message: "a rule of the server failed", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
	}
}
