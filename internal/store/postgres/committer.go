package postgres

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/store/commit"
	"github.com/perdure/perdure/internal/store/postgres/pipe"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const (
	// maxMisses is how often a command may be skipped ("missed") because another transaction has
	// locked the command's execution. After that, the command runs alone and waits for locks.
	maxMisses = 3
	// outage is how long a batch is retried while the database is unreachable. After that, the
	// batch fails.
	outage = 10 * time.Second
	// races is the maximum number of retries of a batch after conflicts with other transactions.
	races = 5
	// attemptTime is the time limit of one attempt to run a batch, including the network. It is
	// longer than the time limits that are set in the database.
	attemptTime = 90 * time.Second
)

// committer runs batches of commands through a connection of its own.
type committer struct {
	*commit.Queue
	id      uuid.UUID
	db      *database
	clock   *clock
	logger  *slog.Logger
	dialect *statement.Dialect
	inTurn  bool      // commands of a batch run one after the other, instead of concurrently
	conn    *pgx.Conn // nil while there is no connection
	peer    backend   // the database process that serves the newest connection
	// warnings receives the warnings that the database sends on conn.
	warnings *warnings
	number   int64 // number of the last transaction of this committer that wrote
	stored   int64 // number in the committer's row, as read by the newest connection
	wait     bool  // statements wait for locks of other transactions
	idle     pipe.Coroutines
	ended    chan struct{}
}

// run processes batches until the queue is closed and empty.
func (c *committer) run() {
	defer close(c.ended)
	var missed []*commit.Call
	for {
		batch := c.runSeparately(missed)
		if len(batch) > 0 {
			batch = append(batch, c.TakeNow()...)
		} else if batch = c.Take(); batch == nil {
			break
		}
		missed = c.Process(c, c.logger, batch)
	}
	c.idle.Close()
	c.disconnect()
}

// runSeparately takes the commands that were missed maxMisses times. It runs each of them in a
// transaction of its own, which waits for locks. It returns the commands that are still to be run:
// those with fewer misses, and those that were missed again. No command overtakes an older one of
// the same execution.
func (c *committer) runSeparately(missed []*commit.Call) (rest []*commit.Call) {
	c.wait = true
	defer func() { c.wait = false }()
	for _, call := range missed {
		if call.Misses < maxMisses || commit.Behind(call, rest) {
			rest = append(rest, call)
			continue
		}
		for _, again := range c.Process(c, c.logger, []*commit.Call{call}) {
			again.Misses = 0
			rest = append(rest, again)
		}
	}
	return rest
}

// Gives implements [commit.Runner].
func (c *committer) Gives(err error) (told error, up bool) {
	return refusal(err), isServerError(err) || errors.Is(err, errLost)
}

// errLost says that the connection to the database was lost.
var errLost = errors.New("the connection to the database was lost")

// Attempt implements [commit.Runner]. It retries the batch after errors that may be temporary. If
// the answer to a COMMIT was lost, it determines whether the transaction is durable.
func (c *committer) Attempt(batch []*commit.Call, careful bool) ([]commit.Outcome, error) {
	giveUp := time.Now().Add(outage)
	raced := 0
	for pause := 5 * time.Millisecond; ; {
		tx, err := c.attempt(batch, careful)
		if err == nil {
			return tx.outcomes, nil
		}
		switch {
		case errors.Is(err, errLost):
			c.logger.Warn("the connection to the database was lost", "err", err)
		case isRace(err) && (len(batch) == 1 || codeOf(err) != uniqueViolation) && raced < races:
			raced++
			continue
		default:
			return nil, err
		}
		for {
			if time.Now().After(giveUp) || c.db.gone.Load() {
				return nil, err
			}
			time.Sleep(pause)
			pause = min(2*pause, 500*time.Millisecond)
			if tx == nil || !tx.ending {
				break
			}
			durable, known := c.settle()
			if known && durable {
				return tx.outcomes, nil
			}
			if known {
				break
			}
		}
	}
}

// settle opens a new connection and determines whether the last transaction that wrote is durable.
// The result `known` is false if settle cannot connect. The caller must close the old connection
// before it calls settle.
func (c *committer) settle() (durable, known bool) {
	ctx, cancel := context.WithTimeout(context.Background(), attemptTime)
	defer cancel()
	if err := c.connect(ctx); err != nil {
		c.logger.Warn("it is not known yet whether a transaction is durable", "err", err)
		return false, false
	}
	return c.stored == c.number, true
}

func (c *committer) connect(ctx context.Context) error {
	if c.conn != nil && !c.conn.IsClosed() {
		return nil
	}
	c.conn, c.warnings = nil, &warnings{}
	conn, err := c.db.connectWriter(ctx, c.warnings)
	if err != nil {
		return err
	}
	if err := c.begin(ctx, conn); err != nil {
		return errors.Join(err, conn.Close(ctx))
	}
	c.conn = conn
	return nil
}

// begin prepares a new connection. When it returns, the last transaction of the previous connection
// is either committed or rolled back for good. If the committer has no row in the database, begin
// inserts one with the number 0.
func (c *committer) begin(ctx context.Context, conn *pgx.Conn) error {
	if c.peer != (backend{}) {
		if err := c.db.end(ctx, conn, c.peer); err != nil {
			return err
		}
	}
	peer, err := c.db.meet(ctx, conn)
	if err != nil {
		return err
	}
	c.peer = peer
	return c.readNumber(ctx, conn)
}

// readNumber reads the number of the committer's last committed transaction. Then it commits a
// write of its own. Once that write is durable and on the standby, so is the earlier transaction.
// The write waits for locks that the database process of a lost connection still holds.
func (c *committer) readNumber(ctx context.Context, conn *pgx.Conn) error {
	var batch pgx.Batch
	batch.Queue("BEGIN")
	batch.Queue(durably)
	batch.Queue("INSERT INTO committer AS c (id, batch, seen_at) VALUES ($1, 0, $2) ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at RETURNING c.batch",
		c.id, c.clock.Now().UnixMilli()).QueryRow(func(row pgx.Row) error { return row.Scan(&c.stored) })
	c.warnings.queueCommit(&batch)
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil {
		if codeOf(err) == lockTimeout {
			return unavailable(err, "an earlier write of this server waits in the database, for a standby or a lock")
		}
		return err
	}
	return c.warnings.err()
}

func (c *committer) disconnect() {
	if c.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.conn.Close(ctx) // the connection is dropped even if closing fails
	c.conn = nil
}
