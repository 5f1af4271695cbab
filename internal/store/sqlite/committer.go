package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/store/commit"
	"github.com/perdure/perdure/internal/store/relational"
)

// committer owns the one connection that writes. Its goroutine takes batch
// after batch from the queue; whatever arrives while one commits goes into the
// next.
type committer struct {
	*commit.Queue
	conn   *conn
	clock  func() time.Time
	logger *slog.Logger
	fatal  func(error)
	// commit ends the transaction; tests replace it to lose a disk.
	commit func(v view) error
	broken atomic.Pointer[error]
	ended  chan struct{}

	// kept are rows of executions at work, as they are stored; version is that of
	// the file when they were read. deciding is locked while a batch runs.
	kept     *relational.Kept
	version  uint32
	deciding sync.Mutex

	path      string
	walLimit  int64
	folder    *folder
	foldAt    int
	laterFrom int
	logged    logged
	haste     *haste // nil where the log is always made longer ahead
	// erased says that the write-ahead log still holds what was erased since it
	// was started again; rest counts the sweeps to pass before the next try.
	erased atomic.Bool
	rest   int

	// reserve may be nil. full says that there is no room for it; filled, that a write
	// found none; short is the size of one that was refused for that, 0 for none.
	// impaired is why writes are refused.
	reserve  *disk.Reserve
	full     bool
	filled   bool
	short    int64
	impaired atomic.Pointer[string]
}

// run works until the queue is closed and empty.
func (c *committer) run() {
	defer close(c.ended)
	defer c.conn.later.close()
	for batch := c.Take(); batch != nil; batch = c.Take() {
		c.process(batch)
	}
}

func (c *committer) process(batch []*commit.Call) {
	c.deciding.Lock()
	defer c.deciding.Unlock()
	commit.Process(c.Observed(c), c.logger, c.admit(batch))
	if c.filled {
		c.makeRoom()
	}
	if c.brokenErr() == nil {
		c.fold()
		c.forget(batch)
	}
}

// Gives implements [commit.Runner].
func (c *committer) Gives(err error) (told error, up bool) {
	c.filled = c.filled || isFull(err)
	up = c.lost(err) || isFull(err) || isBusy(err) || c.brokenErr() != nil
	return refusal(err), up
}

// lost reports whether err means that this connection must not write any more,
// and sees to it that it does not.
func (c *committer) lost(err error) bool {
	if !errors.Is(err, errLost) {
		return false
	}
	c.fail(err)
	return true
}

// fail ends all writing.
func (c *committer) fail(err error) {
	if c.broken.CompareAndSwap(nil, &err) {
		c.logger.Error("the store writes no more", "err", err)
		c.fatal(err)
	}
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

// Attempt implements [commit.Runner].
func (c *committer) Attempt(batch []*commit.Call, careful bool) ([]commit.Outcome, error) {
	if err := c.brokenErr(); err != nil {
		return nil, err
	}
	outcomes, err := c.attempt(batch, careful)
	if isFull(err) {
		outcomes, err = c.freesWith(batch, careful, outcomes, err)
	}
	if err != nil {
		c.kept.Clear()
	}
	return outcomes, err
}

func (c *committer) attempt(batch []*commit.Call, careful bool) ([]commit.Outcome, error) {
	v := view{conn: c.conn, ctx: context.Background()}
	if _, err := v.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, brokenOr(err)
	}
	c.notice()
	now := c.clock()
	if c.haste != nil {
		c.conn.goAhead(c.haste.commit(now))
	}
	t := relational.Begin(v.ctx, v, words, perdure.At(now), c.logger, careful).Keeping(c.kept)
	outcomes, err := c.decide(t, batch, careful)
	if err != nil {
		return nil, errors.Join(brokenOr(err), c.rollback(v))
	}
	if err := c.end(v); err != nil {
		return nil, err
	}
	t.Committed()
	c.version = c.conn.version()
	if t.Erased() {
		c.erased.Store(true)
	}
	if t.Freed() {
		// Only then is the file as short as the pages that were given back make
		// it. It waits for nobody: where a read is in the way, the next one does it.
		c.beginAnew(0)
	}
	return outcomes, nil
}

// decide runs the commands of a batch; where it is large, they are written while the
// next ones are decided on. When it returns, all is written.
func (c *committer) decide(t *relational.Transaction, batch []*commit.Call, careful bool) ([]commit.Outcome, error) {
	if !careful && len(batch) >= c.laterFrom {
		c.conn.later.begin()
	}
	outcomes := make([]commit.Outcome, len(batch))
	for i, call := range batch {
		var err error
		if outcomes[i], err = t.Run(&call.Command); err != nil {
			return nil, errors.Join(err, c.conn.later.end())
		}
	}
	return outcomes, c.conn.later.end()
}

// notice lets go of what is kept where another connection has written: nobody
// does but who looks into a store with tools of his own.
func (c *committer) notice() {
	if version := c.conn.version(); version != c.version {
		c.kept.Clear()
		c.version = version
	}
}

// audit reports whether what is kept is what is stored.
func (c *committer) audit(ctx context.Context) error {
	c.deciding.Lock()
	defer c.deciding.Unlock()
	select {
	case <-c.ended: // so nothing is kept
		return nil
	default:
	}
	if c.brokenErr() != nil {
		return nil
	}
	v := view{conn: c.conn, ctx: context.WithoutCancel(ctx)}
	if _, err := v.exec("BEGIN"); err != nil {
		return err
	}
	_, err := v.one("SELECT epoch FROM store", nil, new(int64)) // now it sees the file
	if err == nil {
		c.notice()
		err = c.kept.Compare(ctx, v, words)
	}
	_, endErr := v.exec("ROLLBACK")
	return errors.Join(err, endErr)
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
	c.conn.forgetGathered() // before, since a rollback reads from the log
	_, err := v.exec("ROLLBACK")
	if err == nil || resultCode(err) == 1 { // SQLITE_ERROR: no transaction is active
		return nil
	}
	return lose(err, "a write could not be rolled back")
}
