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
	"github.com/perdure/perdure/internal/store/sql/apply"
	"github.com/perdure/perdure/internal/store/sql/cache"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// laterFrom is how many commands a batch must have for its writes to be deferred to another
// goroutine. With fewer commands, the committer would mostly wait for that goroutine.
const laterFrom = 8

// committer owns the only connection that writes. Its goroutine takes batches from the queue. Calls
// that arrive while a batch is committed go into the next batch.
type committer struct {
	*commit.Queue
	conn   *connection.Conn
	clock  func() time.Time
	logger *slog.Logger
	fatal  func(error)
	// commit commits the transaction. Tests replace this function to simulate disk failures.
	commit func(v connection.View) error
	broken atomic.Pointer[error]
	ended  chan struct{}

	// cache contains rows of active executions; it is nil if caching is turned off. The rows are
	// valid while SQLite's data version of the file equals `version`. The mutex `deciding` is
	// locked while a batch runs.
	cache    *cache.RowCache
	version  uint32
	deciding sync.Mutex

	path            string
	walLimit        int64
	checkpointer    *checkpointer
	checkpointAt    int
	checkpointsHere bool // the committer runs all checkpoints itself
	laterFrom       int
	logProgress     logProgress
	commitRate      commitRate
	// erased reports that the write-ahead log still contains deleted data that must be erased from
	// the disk. The next reset of the log erases it. The field `rest` is the number of sweeps to
	// skip before the next attempt to reset the log.
	erased atomic.Bool
	rest   int

	// reserve is the reserve of disk space; it may be nil.
	//
	// The field `full` reports that there is no disk space to create the reserve, and `filled` that
	// a write has found no space. The field `short` is the size of the largest write that was
	// refused for lack of space; 0 if none was refused. The field `impaired` says why writes are
	// refused; it is nil or "" while writes are accepted.
	reserve  *disk.Reserve
	full     bool
	filled   bool
	short    int64
	impaired atomic.Pointer[string]
}

// run processes batches until the queue is closed and empty.
func (c *committer) run() {
	defer close(c.ended)
	if c.conn.Later != nil {
		defer c.conn.Later.Close()
	}
	for batch := c.Take(); batch != nil; batch = c.Take() {
		c.process(batch)
	}
}

func (c *committer) process(batch []*commit.Call) {
	c.deciding.Lock()
	defer c.deciding.Unlock()
	c.Process(c, c.logger, c.admit(batch))
	if c.filled {
		c.makeRoom()
	}
	if c.brokenErr() == nil {
		c.checkpoint()
		c.forget(batch)
	}
}

// Gives implements [commit.Runner].
func (c *committer) Gives(err error) (told error, up bool) {
	c.filled = c.filled || connection.IsFull(err)
	up = c.lost(err) || connection.IsFull(err) || connection.IsBusy(err) || c.brokenErr() != nil
	return connection.Refusal(err), up
}

// lost reports whether this connection must not write after the error. In that case, the method
// also stops all writing of the committer.
func (c *committer) lost(err error) bool {
	if !errors.Is(err, errLost) {
		return false
	}
	c.fail(err)
	return true
}

// fail stops all writing permanently.
func (c *committer) fail(err error) {
	if c.broken.CompareAndSwap(nil, &err) {
		c.logger.Error("the store writes no more", "err", err)
		c.fatal(err)
	}
}

var errLost = errors.New("the database can no longer be trusted")

// lose wraps err in an error after which the store must not write.
func lose(err error, message string) error {
	return connection.Unavailable(errors.Join(errLost, err), "%s", message)
}

func (c *committer) brokenErr() error {
	if err := c.broken.Load(); err != nil {
		return connection.Unavailable(*err, "the store has failed and writes no more")
	}
	return nil
}

// Attempt implements [commit.Runner].
func (c *committer) Attempt(batch []*commit.Call, careful bool) ([]commit.Outcome, error) {
	if err := c.brokenErr(); err != nil {
		return nil, err
	}
	outcomes, err := c.attempt(batch, careful)
	if connection.IsFull(err) {
		outcomes, err = c.freesWith(batch, careful, outcomes, err)
	}
	if err != nil {
		c.cache.Clear()
	}
	return outcomes, err
}

func (c *committer) attempt(batch []*commit.Call, careful bool) ([]commit.Outcome, error) {
	ctx := context.Background()
	v := c.conn.With(ctx)
	if _, err := v.Run("BEGIN IMMEDIATE"); err != nil {
		return nil, brokenOr(err)
	}
	c.notice()
	now := c.clock()
	c.conn.GoAhead(c.commitRate.commit(now))
	t := apply.Begin(ctx, v, dialect, perdure.At(now), c.logger, careful).WithCache(c.cache)
	outcomes, err := c.decide(t, batch, careful)
	if err != nil {
		return nil, errors.Join(brokenOr(err), c.rollback(v))
	}
	if err := c.end(v); err != nil {
		return nil, err
	}
	t.Committed()
	c.version = c.conn.Version()
	if t.Erased() {
		c.erased.Store(true)
	}
	if t.Freed() {
		// The file becomes shorter by the freed pages only when the log is reset. If a read
		// prevents the reset now, the file becomes shorter with a later reset.
		c.beginAnew(0)
	}
	return outcomes, nil
}

// decide runs the commands of a batch. In a large batch, the writes of a command are executed
// concurrently with the decisions of the following commands. All writes are executed before decide
// returns.
func (c *committer) decide(t *apply.Transaction, batch []*commit.Call, careful bool) ([]commit.Outcome, error) {
	if c.conn.Later != nil && !careful && len(batch) >= c.laterFrom {
		c.conn.Later.Begin()
	}
	outcomes := make([]commit.Outcome, len(batch))
	for i, call := range batch {
		var err error
		if outcomes[i], err = t.Run(&call.Command); err != nil {
			return nil, errors.Join(err, c.conn.Later.End())
		}
	}
	return outcomes, c.conn.Later.End()
}

// notice clears the cached rows if another connection has written to the file since the last batch.
// Only a person with another tool does that.
func (c *committer) notice() {
	if version := c.conn.Version(); version != c.version {
		c.cache.Clear()
		c.version = version
	}
}

// audit returns an error if a cached row differs from the stored row. It returns nil if the store
// has failed or is closed, because the cache is then not used.
func (c *committer) audit(ctx context.Context) error {
	c.deciding.Lock()
	defer c.deciding.Unlock()
	select {
	case <-c.ended: // the cache is no longer used
		return nil
	default:
	}
	if c.brokenErr() != nil {
		return nil
	}
	v := c.conn.With(context.WithoutCancel(ctx))
	if _, err := v.Run("BEGIN"); err != nil {
		return err
	}
	_, err := v.One("SELECT epoch FROM store", nil, new(int64)) // starts the read snapshot
	if err == nil {
		c.notice()
		err = c.cache.Compare(ctx, v, dialect)
	}
	_, endErr := v.Run("ROLLBACK")
	return errors.Join(err, endErr)
}

func brokenOr(err error) error {
	if connection.IsBroken(err) {
		return lose(err, "the database failed")
	}
	return err
}

// end commits the transaction. If SQLite reports a full disk or a lock, it rolls the transaction
// back. After any other error of a COMMIT, it is unknown what is durable; end then returns an error
// after which the store stops writing.
func (c *committer) end(v connection.View) error {
	err := c.commit(v)
	if err == nil {
		return nil
	}
	if connection.IsFull(err) || connection.IsBusy(err) {
		return errors.Join(err, c.rollback(v))
	}
	return lose(err, "the outcome of a write is unknown")
}

func commitNow(v connection.View) error {
	_, err := v.Run("COMMIT")
	return err
}

// rollback rolls the transaction back, unless SQLite has already done that, for example on a full
// disk. After an error of rollback, the connection can no longer be used.
func (c *committer) rollback(v connection.View) error {
	c.conn.ForgetGathered() // must come first, because a rollback reads from the log
	_, err := v.Run("ROLLBACK")
	if err == nil || connection.ResultCode(err) == 1 { // SQLITE_ERROR: no transaction is active
		return nil
	}
	return lose(err, "a write could not be rolled back")
}
