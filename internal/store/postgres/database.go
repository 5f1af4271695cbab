package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure"
)

// database opens connections, all to the same history of it.
type database struct {
	config  *pgx.ConnConfig
	grouped grouped
	epoch   atomic.Uint64 // 0 until it is known
	fatal   func(error)
	gone    atomic.Bool // fatal was told
	// open opens a network connection. It, silence and doubt are the function and
	// the constants, unless a test sets others.
	open           func(ctx context.Context, network, addr string) (net.Conn, error)
	silence, doubt time.Duration
	pulse          pulse
	settings       durability
	history        history
}

// errReadOnly says that a server takes no writes.
var errReadOnly = errors.New("the server is read only")

// parse reads a URL. Of many hosts the one is taken that writes, unless it says
// otherwise; so the URL stays the same after a failover.
func parse(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, &perdure.Error{Code: perdure.InvalidArgument, Message: "the store's URL cannot be used", Err: err}
	}
	asked := config.ValidateConnect
	config.ValidateConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		if asked != nil {
			return readOnlyOf(asked(ctx, conn))
		}
		return readOnlyOf(pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, conn))
	}
	return config, nil
}

func readOnlyOf(err error) error {
	if err != nil && codeOf(err) == "" {
		return fmt.Errorf("%w: %w", errReadOnly, err)
	}
	return err
}

// newDatabase reads a URL. Settings that it names itself stay.
func newDatabase(url string, fatal func(error)) (*database, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"application_name":              "perdure",
		"default_transaction_isolation": "read committed",
		// A server that stops in the middle of a transaction must not keep others
		// from what it has locked.
		"idle_in_transaction_session_timeout": "5s",
		"lock_timeout":                        "10s",
		"statement_timeout":                   "60s",
	} {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	config.RuntimeParams["standard_conforming_strings"] = "on"
	d := &database{config: config, fatal: fatal, open: openConn, silence: silence, doubt: doubt}
	config.DialFunc = d.dial
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 2 * dialTime
	}
	return d, nil
}

// planning is how statements that write are planned: once, and by indexes. All
// of them find their rows by key, and tables grow faster than what is known of
// them: a plan that reads a table whole would be right only for the first
// minutes. No bitmaps of rows are made: a plain scan of an index marks the entries of
// rows that are dead, which those of what was held some seconds ago are, and the next
// one passes over them.
var planning = map[string]string{
	"plan_cache_mode":   "force_generic_plan",
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
	"jit":               "off",
}

// connect opens a connection that writes.
func (d *database) connect(ctx context.Context) (*pgx.Conn, error) {
	return d.connectWith(ctx, func(*pgx.ConnConfig) {})
}

// connectWith is connect with a change of its configuration.
func (d *database) connectWith(ctx context.Context, change func(*pgx.ConnConfig)) (*pgx.Conn, error) {
	config := d.config.Copy()
	change(config)
	for name, value := range planning {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := d.check(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// check reads Settings, and sees to it that the database is the one that was
// opened: another history of it may lack what was shown.
func (d *database) check(ctx context.Context, conn *pgx.Conn) error {
	if err := d.settings.read(ctx, conn); err != nil {
		return err
	}
	known := d.epoch.Load()
	if known == 0 {
		return nil
	}
	epoch, err := readEpoch(ctx, conn)
	if err != nil {
		return err
	}
	if epoch == known {
		return d.compareHistory(ctx, conn)
	}
	err = unavailable(nil, "the database has been restored or has failed over; the server has to start anew")
	if d.gone.CompareAndSwap(false, true) {
		d.fatal(err)
	}
	return err
}

// readEpoch returns the epoch of the database's history: another cluster, another
// timeline of it (after a failover, or a restore to a moment), another database
// and another store in it (after a restore of a dump) each have their own.
func readEpoch(ctx context.Context, conn rowQuerier) (uint64, error) {
	place, stored, err := readPlace(ctx, conn)
	if err != nil {
		return 0, err
	}
	return max(place^stored, 1), nil
}

type rowQuerier interface {
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// readPlace returns a number for where the store's row is, and the one that stands
// in it. A row that was written again, from a dump, has another xmin.
func readPlace(ctx context.Context, conn rowQuerier) (place, stored uint64, err error) {
	var (
		system, epoch int64
		timeline, row string
		oid           uint32
	)
	err = conn.QueryRow(ctx, "SELECT (SELECT system_identifier FROM pg_control_system()), left(pg_walfile_name(pg_current_wal_lsn()), 8),"+
		" (SELECT oid FROM pg_database WHERE datname = current_database()), xmin::text, epoch FROM store WHERE id = 1").Scan(&system, &timeline, &oid, &row, &epoch)
	if err != nil {
		return 0, 0, err
	}
	h := fnv.New64a()
	b := binary.BigEndian.AppendUint64(nil, uint64(system))
	b = binary.BigEndian.AppendUint32(b, oid)
	b = append(append(b, timeline...), ' ')
	h.Write(append(b, row...)) // never fails
	return h.Sum64(), uint64(epoch), nil
}

// setEpoch makes the store's epoch the given one. The row has the place that it
// keeps once this transaction has written it.
func setEpoch(ctx context.Context, tx pgx.Tx, epoch uint64) error {
	if _, err := tx.Exec(ctx, "UPDATE store SET epoch = 0"); err != nil {
		return err
	}
	place, _, err := readPlace(ctx, tx)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE store SET epoch = $1", int64(place^epoch))
	return err
}
