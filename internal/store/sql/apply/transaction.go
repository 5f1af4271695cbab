// Package apply decides commands and writes their changes. It loads the state that a decision needs,
// calls the decision and applies the changes, for a batch of commands in one transaction.
package apply

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
	"github.com/perdure/perdure/internal/store/sql/cache"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/pick"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Transaction decides the commands of one batch and writes their changes. It keeps the rows of the
// executions that it has read or written, for later commands of the batch.
type Transaction struct {
	statement.View
	*batch
}

// batch is the state that all commands of a transaction share.
type batch struct {
	*cache.Batch
	now     perdure.Time
	nonce   uint32
	logger  *slog.Logger
	careful bool
	erased  bool // deleted data must soon be erased from the disk
	freed   bool // pages were returned to the file system
}

// Begin creates a Transaction for the database transaction that c has begun. If `now` is zero, At
// must be called before the first command. If `careful` is set, each candidate of a pick is decided
// in its own savepoint, so that an error of the store undoes only that candidate.
func Begin(ctx context.Context, c statement.Conn, dialect *statement.Dialect, now perdure.Time, logger *slog.Logger, careful bool) *Transaction {
	return &Transaction{
		View:  statement.View{Conn: c, Context: ctx, Dialect: dialect},
		batch: &batch{Batch: cache.NewBatch(), now: now, nonce: drawNonce(), logger: logger, careful: careful},
	}
}

// WithCache makes the transaction use the rows in a cache. Once the transaction is committed,
// Committed updates that cache.
func (t *Transaction) WithCache(k *cache.RowCache) *Transaction {
	t.Use(k)
	return t
}

// At sets the time of the transaction, which is the time of all its commands.
func (t *Transaction) At(now perdure.Time) { t.now = now }

// With returns a view of the same transaction that uses the connection c, for one command. The
// command can run concurrently with commands of other executions.
func (t *Transaction) With(c statement.Conn) *Transaction {
	return &Transaction{View: statement.View{Conn: c, Context: t.Context, Dialect: t.Dialect}, batch: t.batch}
}

// Erased reports whether the transaction has deleted data that must soon be erased from the disk.
func (t *Transaction) Erased() bool { return t.erased }

// Freed reports whether the transaction has returned pages to the file system.
func (t *Transaction) Freed() bool { return t.freed }

// Run decides one command and writes its changes. If the decision refuses the command, the outcome
// contains the error of the decision. The error of Run itself is an error of the store, after which
// the transaction cannot be committed.
func (t *Transaction) Run(c *store.Command) (commit.Outcome, error) {
	if c.Pick == nil {
		changes, err := t.decide(c, pick.Candidate{Execution: c.Execution})
		switch {
		case errors.Is(err, statement.ErrHeld):
			return commit.Outcome{Missed: true}, nil
		case err != nil && isRefused(err):
			return commit.Outcome{Err: refusedBy(err)}, nil
		case err != nil:
			return commit.Outcome{}, err
		case changes == nil:
			return commit.Outcome{Answers: []any{nil}}, nil
		}
		return commit.Outcome{Answers: []any{changes.Answer}}, nil
	}
	outcomes, err := t.RunPicks([]*store.Command{c})
	if err != nil {
		return commit.Outcome{}, err
	}
	return outcomes[0], nil
}

// refused wraps the error of a decision that has refused its command. Errors of the store are not
// wrapped.
type refused struct{ err error }

func (r refused) Error() string { return r.err.Error() }

func isRefused(err error) bool {
	_, ok := err.(refused)
	return ok
}

func refusedBy(err error) error { return err.(refused).err }

var (
	beginCandidate = statement.Alone("SAVEPOINT candidate")
	keepCandidate  = statement.Alone("RELEASE candidate")
	undoCandidate  = statement.Alone("ROLLBACK TO candidate")
)

// decideApart calls decide. If the transaction is careful, it does so in a savepoint, so that an
// error of the store undoes only this decision.
func (t *Transaction) decideApart(c *store.Command, one pick.Candidate) (*store.Changes, error) {
	if !t.careful {
		return t.decide(c, one)
	}
	if err := t.Write(beginCandidate); err != nil {
		return nil, err
	}
	changes, err := t.decide(c, one)
	if err == nil {
		err = t.Write(keepCandidate)
		return changes, err
	}
	if t.Dialect.Spoils(err) {
		return nil, err
	}
	t.Forget(one.Execution)
	if undoErr := t.Write(undoCandidate); undoErr != nil {
		return nil, undoErr
	}
	if undoErr := t.Write(keepCandidate); undoErr != nil {
		return nil, undoErr
	}
	if isRefused(err) || errors.Is(err, statement.ErrHeld) {
		return nil, err
	}
	return nil, refused{err}
}

// decide loads the state of one execution that the command needs. It calls the command's Decide and
// writes the changes.
func (t *Transaction) decide(c *store.Command, one pick.Candidate) (*store.Changes, error) {
	l, err := t.Row(t.View, one.Execution)
	if err != nil {
		return nil, err
	}
	if c.Org != "" && l.Row != nil && l.Row.Org != c.Org {
		l = load.ExecutionRow{}
	}
	x := cloneExecution(l.Row)
	needs, err := askNeeds(c, x)
	if err != nil {
		return nil, refused{err}
	}
	if c.Pick != nil {
		needs = pickNeeds(c.Pick, one, needs)
	}
	state, known, err := t.load(c.Org, one, l, x, needs)
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
	if err := t.Hold(heldForRoom(known, changes)...); err != nil {
		return nil, err
	}
	return changes, t.applySafely(c, one.Execution, l, known, changes)
}

func askNeeds(c *store.Command, x *perdure.Execution) (n store.Needs, err error) {
	if c.Needs == nil {
		return n, nil
	}
	defer caught(&err)
	return c.Needs(x), nil
}

func askDecision(c *store.Command, s *store.State) (changes *store.Changes, err error) {
	defer caught(&err)
	return c.Decide(s)
}

// applySafely calls apply and converts a panic to an error. So invalid changes, such as a nil row,
// fail only their own command.
func (t *Transaction) applySafely(c *store.Command, execution uuid.UUID, l load.ExecutionRow, known *known, ch *store.Changes) (err error) {
	defer caught(&err)
	if err = t.apply(c.Org, execution, l, known, ch); errors.Is(err, statement.ErrHeld) {
		// The text of err is enough: with %w, a wrapped ErrHeld would make the committer retry the
		// command.
		return fmt.Errorf("half of the changes are written: %v", err)
	}
	return err
}

func caught(err *error) {
	if p := recover(); p != nil {
		*err = &perdure.Error{Code: perdure.Internal, Message: "a rule of the server failed", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
	}
}
