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
	"github.com/perdure/perdure/internal/store/postgres/pipe"
	"github.com/perdure/perdure/internal/store/sql/cache"
)

// database opens connections. It checks that the database was not restored, or replaced by a
// standby, between two connections.
type database struct {
	config  *pgx.ConnConfig
	grouped pipe.Groups
	epoch   atomic.Uint64 // 0 while unknown
	fatal   func(error)
	gone    atomic.Bool // the function fatal was called
	// open is a function that opens a network connection; the default is openConn. The defaults of
	// `silence` and `doubt` are the constants with these names. Tests set other values.
	open           func(ctx context.Context, network, addr string) (net.Conn, error)
	silence, doubt time.Duration
	pulse          workingProcesses
	settings       durability
	history        history
	// hooks caches the webhooks for all committers.
	hooks cache.Webhooks
}

// errReadOnly says that a database server does not accept writes.
var errReadOnly = errors.New("the server is read only")

// parse parses the URL of a database. If the URL names several hosts, the one that accepts writes is
// used, unless the URL says otherwise. So the URL need not change after a failover.
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

// newDatabase parses the URL of a database, and sets the settings of its connections. Settings in
// the URL override those of this function.
func newDatabase(url string, fatal func(error)) (*database, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"application_name":              "perdure",
		"default_transaction_isolation": "read committed",
		// A Perdure server that hangs in the middle of a transaction must not block other Perdure
		// servers with its locks.
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

// planning lists the settings with which PostgreSQL plans each writing statement only once, and with
// indexes. All these statements find their rows by key. Without these settings, PostgreSQL would
// choose sequential scans from the statistics of tables that are still small. Bitmap scans are off,
// because only a plain index scan marks index entries of dead rows, which later scans then skip;
// every change of a claim leaves such rows.
var planning = map[string]string{
	"plan_cache_mode":   "force_generic_plan",
	"enable_seqscan":    "off",
	"enable_bitmapscan": "off",
	"enable_hashjoin":   "off",
	"enable_mergejoin":  "off",
	"jit":               "off",
}

// connect opens a connection for writing.
func (d *database) connect(ctx context.Context) (*pgx.Conn, error) {
	return d.connectWith(ctx, func(*pgx.ConnConfig) {})
}

// connectWith opens a connection for writing, like connect. Before it connects, it calls `change`,
// which may modify the configuration.
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

// check reads Settings. It also checks that the connection leads to the database that the store has
// opened: a restored database or a promoted standby may lack data that readers have already seen.
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

// readEpoch returns the epoch of the database's history. The epoch differs after a failover, after a
// point-in-time restore, and after a restore of the store from a dump. It also differs in another
// cluster and in another database.
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

// readPlace returns the epoch that the store's row contains, and `place`, a hash of the cluster,
// its timeline, the database and the xmin of that row. A row that was written again, for example by
// the restore of a dump, has another xmin.
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

// setEpoch sets the store's epoch. It writes the store's row before it computes the stored value,
// because that value depends on the row's xmin, which is then that of this transaction.
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
