package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
	"github.com/perdure/perdure/internal/store/postgres/pipe"
	"github.com/perdure/perdure/internal/store/sql/apply"
	"github.com/perdure/perdure/internal/store/sql/pick"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// attempt runs one batch in one transaction. A batch that is retried gets a new attempt.
type attempt struct {
	*committer
	ctx      context.Context
	batch    []*commit.Call
	outcomes []commit.Outcome
	rows     *apply.Transaction
	// missed contains the executions that another transaction has locked. Their commands go into a
	// later batch.
	missed map[uuid.UUID]bool
	ending bool // a COMMIT may have been sent
}

// attempt runs a batch in one transaction. If it returns an error together with an attempt whose
// field `ending` is set, the transaction may be durable in spite of the error. If `careful` is set,
// the commands run one after the other, and each candidate of a pick is decided in its own
// savepoint.
func (c *committer) attempt(batch []*commit.Call, careful bool) (*attempt, error) {
	ctx, cancel := context.WithTimeout(context.Background(), attemptTime)
	defer cancel()
	if err := c.connect(ctx); err != nil {
		return nil, lost(err)
	}
	a := &attempt{committer: c, ctx: ctx, batch: batch, outcomes: make([]commit.Outcome, len(batch)), missed: map[uuid.UUID]bool{}}
	run := a.sideBySide
	if careful || c.inTurn {
		run = func() error { return a.oneByOne(careful) }
	}
	err := run()
	if err == nil {
		a.rows.Committed()
		if a.ending {
			c.db.history.note(c.id, c.number, c.clock.Now())
		}
		return a, nil
	}
	if errors.Is(err, errWarned) {
		c.disconnect()
		return a, err
	}
	if isArgument(err) {
		// The driver refused a value and closed the connection before it sent any statement of the
		// pgx.Batch that ends with the COMMIT.
		a.ending = false
		c.disconnect()
		return a, err
	}
	if isStatement(err) || !c.conn.IsClosed() && codeOf(err) == "" {
		// The failed statement has aborted the whole transaction, including the COMMIT after it.
		a.ending = false
		if _, undo := c.conn.Exec(ctx, "ROLLBACK"); undo != nil {
			c.disconnect()
		}
		return a, err
	}
	c.disconnect()
	return a, lost(err)
}

func lost(err error) error { return fmt.Errorf("%w: %w", errLost, err) }

var (
	beginBatch = statement.NewAlone("BEGIN")
	beginRead  = statement.NewAlone("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
)

// sideBySide decides the commands concurrently. Commands with a pick (see store.Pick) run first, in
// groups of equal picks, one group after the other. So each pick sees the changes of the previous
// ones.
func (a *attempt) sideBySide() error {
	p := pipe.New(a.ctx, a.conn, beginBatch, &a.db.grouped, &a.idle, a.wait)
	a.rows = apply.Begin(a.ctx, nil, a.dialect, perdure.Time{}, a.logger, false)
	a.rows.UseWebhooks(&a.db.hooks)
	p.Do(a.prepare)
	if err := p.Run(); err != nil {
		return err
	}
	for _, same := range a.picks() {
		p.Do(func(c statement.Conn) error { return a.pick(c, same) })
		if err := p.Run(); err != nil {
			return err
		}
	}
	for i, call := range a.batch {
		if call.Pick == nil {
			p.Do(a.command(i))
		}
	}
	if err := p.Run(); err != nil {
		return err
	}
	return a.commit(p)
}

// prepare locks the executions that the commands of the batch name, and reads their rows. It also
// reads the database's time and the revision of the webhooks. In a pipe, all this takes one round
// trip.
func (a *attempt) prepare(c statement.Conn) error {
	ids := a.executions()
	if len(ids) == 0 {
		return a.readTime(c)
	}
	held, err := a.rows.With(c).Preload(ids, a.readTime)
	for _, id := range held {
		a.missed[id] = true
	}
	return err
}

func (a *attempt) executions() (ids []uuid.UUID) {
	seen := map[uuid.UUID]bool{uuid.Nil: true}
	for _, call := range a.batch {
		if call.Pick == nil && !seen[call.Execution] {
			seen[call.Execution] = true
			ids = append(ids, call.Execution)
		}
	}
	return ids
}

func (a *attempt) readTime(c statement.Conn) error {
	return c.Each(a.ctx, timeAndWebhooks, nil, func(row func(...any) error) error {
		var micros, revision int64
		if err := row(&micros, &revision); err != nil {
			return err
		}
		a.rows.At(a.clock.set(micros))
		a.rows.WebhooksAt(revision)
		return nil
	})
}

// picks returns the indexes of the commands that have a pick, in groups. The commands of a group
// have equal picks.
func (a *attempt) picks() (all [][]int) {
	for i, call := range a.batch {
		if call.Pick == nil {
			continue
		}
		at := slices.IndexFunc(all, func(same []int) bool {
			return pick.Same(&a.batch[same[0]].Command, &call.Command)
		})
		if at < 0 {
			all = append(all, []int{i})
		} else {
			all[at] = append(all[at], i)
		}
	}
	return all
}

func (a *attempt) pick(c statement.Conn, same []int) error {
	commands := make([]*store.Command, len(same))
	for i, at := range same {
		commands[i] = &a.batch[at].Command
	}
	outcomes, err := a.rows.With(c).RunPicks(commands)
	if err != nil {
		return err
	}
	for i, at := range same {
		a.outcomes[at] = outcomes[i]
	}
	return nil
}

// command returns a function that decides one command without a pick. The pipe runs this function
// concurrently with the functions of other commands.
func (a *attempt) command(i int) func(c statement.Conn) error {
	call := a.batch[i]
	return func(c statement.Conn) (err error) {
		if call.Execution != uuid.Nil {
			if err := pipe.Own(c, pick.HeldExecution(call.Execution)); err != nil {
				return err
			}
		}
		a.outcomes[i], err = a.run(a.rows.With(c), call)
		return err
	}
}

// oneByOne runs the commands in their order, one statement at a time.
func (a *attempt) oneByOne(careful bool) error {
	c := pipe.NewSequential(a.conn, beginBatch, a.wait)
	a.rows = apply.Begin(a.ctx, c, a.dialect, perdure.Time{}, a.logger, careful)
	a.rows.UseWebhooks(&a.db.hooks)
	if err := a.prepare(c); err != nil {
		return err
	}
	for i, call := range a.batch {
		var err error
		if a.outcomes[i], err = a.run(a.rows, call); err != nil {
			return err
		}
	}
	return a.commit(&pipe.Pipe{Wrote: c.Wrote})
}

// run runs a command. It reports the command as missed if another transaction has locked the
// command's execution, or if an earlier command of the same execution was missed. A missed command
// is repeated in a later batch.
func (a *attempt) run(rows *apply.Transaction, call *commit.Call) (commit.Outcome, error) {
	named := call.Pick == nil && call.Execution != uuid.Nil
	if named && a.missed[call.Execution] {
		return commit.Outcome{Missed: true}, nil
	}
	outcome, err := rows.Run(&call.Command)
	if named && outcome.Missed {
		a.missed[call.Execution] = true // later commands of the execution must not overtake this one
	}
	return outcome, err
}

// commit sends the deferred writes and commits the transaction. If the transaction writes, or if
// a.answers() is true, commit also increments the number of this committer's transactions, which is
// stored in the committer's row.
func (a *attempt) commit(p *pipe.Pipe) error {
	var batch pgx.Batch
	if err := p.Flush(&batch); err != nil {
		return err
	}
	if p.Wrote || a.answers() {
		a.number++
		batch.Queue(durably)
		batch.Queue("INSERT INTO committer (id, batch, seen_at) VALUES ($1, $2, $3)"+
			" ON CONFLICT (id) DO UPDATE SET batch = excluded.batch, seen_at = excluded.seen_at", a.id, a.number, a.clock.Now().UnixMilli())
		a.ending = true
	}
	a.warnings.queueCommit(&batch)
	if err := a.conn.SendBatch(a.ctx, &batch).Close(); err != nil {
		return err
	}
	if a.conn.PgConn().TxStatus() != 'I' {
		return errors.New("a transaction did not end")
	}
	return a.warnings.err()
}

// answers reports whether a command's answer may depend on data of another transaction. That data
// may be visible before it is durable, or before it is on the standby. A COMMIT waits for the disk
// and the standby only if its transaction has written something, so the transaction must then
// write. A pick (a search for work, as by a claim) is no such command: its answer depends only on
// its own writes.
func (a *attempt) answers() bool {
	for i, call := range a.batch {
		if call.Pick == nil && !a.outcomes[i].Missed {
			return true
		}
	}
	return false
}
