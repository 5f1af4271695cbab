package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// durably is a statement that makes the COMMIT of its transaction wait for the disk, even if the
// setting synchronous_commit was turned off meanwhile. It changes no other value of that setting:
// the others differ only in what a failover may lose, and that is the operator's choice. It also
// removes the time limit of the COMMIT. A COMMIT that stopped waiting for a standby would make data
// visible that is on no standby.
const durably = "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)," +
	" set_config('statement_timeout', '0', true)"

// errWarned says that PostgreSQL has answered a COMMIT with a warning. That happens if PostgreSQL
// has stopped waiting for a standby: the transaction is visible, but a failover may lose it.
var errWarned = errors.New("the database warned during a COMMIT")

// warnings stores the last warning that a connection has received. queueCommit resets it before a
// COMMIT.
type warnings struct{ last *pgconn.Notice }

// take implements [pgconn.NoticeHandler]. It stores the warning.
func (w *warnings) take(_ *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		w.last = n
	}
}

// queueCommit appends a COMMIT to a batch of statements. It drops the warnings of earlier
// statements, so that the method `err` reports only a warning of the COMMIT.
func (w *warnings) queueCommit(batch *pgx.Batch) {
	w.last = nil
	for _, q := range batch.QueuedQueries[max(0, len(batch.QueuedQueries)-1):] {
		before := q.Fn
		q.Fn = func(results pgx.BatchResults) error {
			var err error
			if before != nil {
				err = before(results)
			} else {
				_, err = results.Exec()
			}
			w.last = nil
			return err
		}
	}
	batch.Queue("COMMIT")
}

// err returns an error that wraps errLost and errWarned if the database has answered the COMMIT
// with a warning.
func (w *warnings) err() error {
	if w.last == nil {
		return nil
	}
	return lost(fmt.Errorf("%w: %s", errWarned, w.last.Message))
}

// connectWriter opens a connection for writing, like connect. It refuses the driver's second dial:
// when the driver closes a connection after an error, it dials again to send a cancel request, and
// that request would end a COMMIT's wait for a standby. The database process of a closed connection
// is terminated later, by database.end.
func (d *database) connectWriter(ctx context.Context, w *warnings) (*pgx.Conn, error) {
	var there atomic.Bool
	conn, err := d.connectWith(ctx, func(config *pgx.ConnConfig) {
		dial := config.DialFunc
		config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if there.Load() {
				return nil, errNoCancel
			}
			return dial(ctx, network, addr)
		}
		config.OnNotice = w.take
	})
	there.Store(true)
	return conn, err
}

var errNoCancel = errors.New("a connection that commits is not cancelled")
