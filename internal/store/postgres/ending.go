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

// durably makes the COMMIT of its transaction wait for the disk, whatever the
// database has been set to meanwhile. A value that asks for more stays, and so do
// local and remote_write: they differ only in what a failover may lose, which is
// the operator's choice. The COMMIT has no time limit: one that ended its wait for a
// standby would show others what no standby has.
const durably = "SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)," +
	" set_config('statement_timeout', '0', true)"

// errWarned says that a COMMIT was answered with a warning. PostgreSQL warns where
// it stopped waiting for a standby: the transaction is visible, and a failover may
// lose it.
var errWarned = errors.New("the database warned during a COMMIT")

// warnings keeps the last warning that a connection received.
type warnings struct{ last *pgconn.Notice }

// take implements [pgconn.NoticeHandler].
func (w *warnings) take(_ *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		w.last = n
	}
}

// queueCommit ends a batch with a COMMIT, and notes only its own warnings.
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

// err returns an error that wraps errLost and errWarned if there was a warning.
func (w *warnings) err() error {
	if w.last == nil {
		return nil
	}
	return lost(fmt.Errorf("%w: %s", errWarned, w.last.Message))
}

// connectWriter is connect for a connection that commits. The driver sends a
// request to cancel when it gives a connection up, over a connection that it dials
// for it; that would end the wait of a COMMIT for a standby, and is not let
// through. What else continues there is ended by the connection that follows.
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
