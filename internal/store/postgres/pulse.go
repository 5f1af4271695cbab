package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
)

// lookTime bounds one look at what the database works on.
const lookTime = 3 * time.Second

// backend is the database's process behind a connection. Since tells it from a
// later one of the same number.
type backend struct {
	pid   int32
	since string
}

// pulse is the newest look at the database's processes, for all connections that
// are in doubt.
type pulse struct {
	mu    sync.Mutex // held while somebody looks
	at    time.Time  // when that look began
	found look
}

// look is what one came to: who works, or that nobody can tell.
type look struct {
	working map[backend]bool
	unknown bool
}

// works reports whether the database still works on what came over a connection:
// that one may take its time. Where the database cannot be reached at all, it
// does not; where it answers but does not tell, it may.
func (d *database) works(b backend) bool {
	now := time.Now()
	d.pulse.mu.Lock()
	defer d.pulse.mu.Unlock()
	if d.pulse.at.Before(now.Add(-d.doubt / 2)) {
		d.pulse.at = time.Now()
		d.pulse.found = d.look()
	}
	return d.pulse.found.unknown || d.pulse.found.working[b]
}

// working are the processes that do not wait for their client, whether for what it
// asks or until it takes what it is answered.
const working = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE wait_event_type IS DISTINCT FROM 'Client' AND backend_type = 'client backend'"

func (d *database) look() look {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, d.config.Copy())
	if err != nil {
		return look{unknown: codeOf(err) != ""} // what refuses a connection is there
	}
	defer func() { _ = conn.Close(ctx) }() // what was asked for is there
	rows, err := conn.Query(ctx, working)
	if err != nil {
		return look{unknown: codeOf(err) != ""}
	}
	found := look{working: map[backend]bool{}}
	var b backend
	_, err = pgx.ForEachRow(rows, []any{&b.pid, &b.since}, func() error {
		found.working[b] = true
		return nil
	})
	if err != nil {
		return look{unknown: codeOf(err) != ""}
	}
	return found
}

// meet finds out who is at the other end of a new connection, and keeps copies out
// of the database for as long as that lasts. It waits for one that is about to end.
// Error: conflict while a copy fills the database.
func (d *database) meet(ctx context.Context, conn *pgx.Conn) (b backend, err error) {
	if _, err = conn.Exec(ctx, "SELECT pg_advisory_lock_shared($1)", int64(serving)); err != nil {
		if codeOf(err) == lockTimeout {
			return b, &perdure.Error{Code: perdure.Conflict, Message: "a copy into this database is under way (perdure store copy); start the server when it has ended", Err: err}
		}
		return b, err
	}
	err = conn.QueryRow(ctx, "SELECT pid, backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()").Scan(&b.pid, &b.since)
	if err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			return b, nil // it tells nobody; the longest silence ends what is dead
		}
		return b, err
	}
	network := conn.PgConn().Conn()
	if secure, ok := network.(*tls.Conn); ok {
		network = secure.NetConn()
	}
	if w, ok := network.(*watched); ok {
		w.know(b)
	}
	return b, nil
}

// end ends the process behind a connection that was lost: what it has locked is
// free then, and nothing that it may still be sent comes to pass. It need not be
// there any more. A process that waits for a standby is left alone, with its locks:
// to end it would show others what no standby has.
func (d *database) end(ctx context.Context, conn *pgx.Conn, b backend) error {
	_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2"+
		" AND wait_event IS DISTINCT FROM 'SyncRep'", b.pid, b.since)
	if codeOf(err) != "" {
		return nil // it may not; then the database's own limits end it
	}
	return err
}
