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
// setting synchronous_commit of the database was turned off meanwhile. Every other value of the
// setting remains: the values that wait for the disk differ only in what a failover may lose, which
// is the operator's choice. The COMMIT has no time limit: a COMMIT that stopped waiting for a
// standby would make data visible that is on no standby.
const durably = "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)," +
	" set_config('statement_timeout', '0', true)"

// errWarned says that PostgreSQL has answered a COMMIT with a warning. That happens if PostgreSQL
// has stopped waiting for a standby: the transaction is visible, but a failover may lose it.
var errWarned = errors.New("the database warned during a COMMIT")

// warnings stores the last warning that a connection has received. Before a COMMIT, the field last is
// set to nil: see queueCommit.
type warnings struct{ last *pgconn.Notice }

// take implements [pgconn.NoticeHandler]. It stores the warning.
func (w *warnings) take(_ *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		w.last = n
	}
}

// queueCommit appends a COMMIT to a batch of statements. When the COMMIT runs, warnings of earlier
// statements are dropped, so that err reports only a warning of the COMMIT.
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

// err returns an error that wraps errLost and errWarned if the database has sent a warning.
func (w *warnings) err() error {
	if w.last == nil {
		return nil
	}
	return lost(fmt.Errorf("%w: %s", errWarned, w.last.Message))
}

// connectWriter opens a connection for writing, like connect. When the driver closes a connection
// after an error, it opens another one to send a cancel request. If a COMMIT waits for a standby,
// that request would end the wait. So connectWriter refuses the second dial. The committer's next
// connection terminates the old database process: see database.end.
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
