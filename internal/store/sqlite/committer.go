package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// committer owns the one connection that writes. Its goroutine takes batch
// after batch from the queue; whatever arrives while one commits goes into the
// next.
type committer struct {
	*queue
	conn   *conn
	clock  func() time.Time
	logger *slog.Logger
	fatal  func(error)
	// commit ends the transaction; tests replace it to lose a disk.
	commit func(v view) error
	broken atomic.Pointer[error]
	ended  chan struct{}

	path     string
	walLimit int64
	batches  int
	// erased says that the write-ahead log still holds what was erased since it
	// was begun anew; rest counts the sweeps to pass before the next try.
	erased bool
	rest   int
}

// run works until the queue is closed and empty.
func (c *committer) run() {
	defer close(c.ended)
	for batch := c.take(); batch != nil; batch = c.take() {
		c.process(batch, false)
		if c.brokenErr() == nil {
			c.trim()
			c.forget(batch)
		}
	}
}

// process commits a batch and answers its callers. Where SQL fails, it runs
// again in halves, each from fresh state, until the culprit stands alone;
// careful is set for that one, so that of many candidates picked only the
// faulty ones fail.
func (c *committer) process(batch []*call, careful bool) {
	if err := c.brokenErr(); err != nil {
		refuseAll(batch, err)
		return
	}
	outcomes, erased, err := c.attempt(batch, careful)
	switch {
	case err == nil:
		c.erased = c.erased || erased
		for i, call := range batch {
			call.done <- outcomes[i]
		}
	case c.lost(err), isFull(err), isBusy(err):
		refuseAll(batch, refusal(err))
	case len(batch) > 1:
		c.process(batch[:len(batch)/2], false)
		c.process(batch[len(batch)/2:], false)
	case batch[0].Pick != nil && !careful:
		c.process(batch, true)
	default:
		c.logger.Error("a command failed in the store", "command", batch[0].Name, "org", batch[0].Org, "execution", batch[0].Execution, "err", err)
		refuseAll(batch, refusal(err))
	}
}

func refuseAll(batch []*call, err error) {
	for _, call := range batch {
		call.done <- outcome{err: err}
	}
}

// lost tells whether err means that this connection must not write any more,
// and sees to it that it does not.
func (c *committer) lost(err error) bool {
	if !errors.Is(err, errLost) {
		return false
	}
	if c.broken.CompareAndSwap(nil, &err) {
		c.logger.Error("the store writes no more", "err", err)
		c.fatal(err)
	}
	return true
}

var errLost = errors.New("the database can no longer be trusted")

// lose marks err as one after which the store must not write.
func lose(err error, message string) error {
	return unavailable(errors.Join(errLost, err), "%s", message)
}

func (c *committer) brokenErr() error {
	if err := c.broken.Load(); err != nil {
		return unavailable(*err, "the store has failed and writes no more")
	}
	return nil
}

// attempt runs a batch in one transaction. Outcomes are valid once it has
// committed, that is, if err is nil.
func (c *committer) attempt(batch []*call, careful bool) (outcomes []outcome, erased bool, err error) {
	v := view{conn: c.conn, ctx: context.Background()}
	if _, err := v.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, false, brokenOr(err)
	}
	t := &transaction{view: v, now: perdure.At(c.clock()), logger: c.logger, careful: careful, rows: map[rowID]loadedExecution{}}
	outcomes = make([]outcome, len(batch))
	for i, call := range batch {
		if outcomes[i], err = t.run(&call.Command); err != nil {
			return nil, false, errors.Join(brokenOr(err), c.rollback(v))
		}
	}
	if err = c.end(v); err == nil && t.freed {
		// Only then is the file as short as the pages that were given back make
		// it. It waits for nobody: where a read is in the way, the next one does it.
		c.beginAnew(0)
	}
	return outcomes, t.erased, err
}

func brokenOr(err error) error {
	if isBroken(err) {
		return lose(err, "the database failed")
	}
	return err
}

// end commits. After an error other than a full disk or a lock it is unknown
// what is durable: the store is lost.
func (c *committer) end(v view) error {
	err := c.commit(v)
	if err == nil {
		return nil
	}
	if isFull(err) || isBusy(err) {
		return errors.Join(err, c.rollback(v))
	}
	return lose(err, "the outcome of a write is unknown")
}

func commitNow(v view) error {
	_, err := v.exec("COMMIT")
	return err
}

// rollback gives up the transaction. SQLite may have done so itself, after a
// full disk for one; if neither did, the connection is of no use any more.
func (c *committer) rollback(v view) error {
	_, err := v.exec("ROLLBACK")
	if err == nil || resultCode(err) == 1 { // SQLITE_ERROR: no transaction is active
		return nil
	}
	return lose(err, "a write could not be rolled back")
}
