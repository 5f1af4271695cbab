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

// processListTimeout is the time limit for reading the list of the database's working processes.
const processListTimeout = 3 * time.Second

// backend is the database process that serves a connection. Because pids are reused, its start time
// is stored, too.
type backend struct {
	pid   int32
	since string
}

// workingProcesses caches the newest list of the database processes that are working. It serves all
// connections that have received nothing for a while.
type workingProcesses struct {
	mu    sync.Mutex // locked while the list is read
	at    time.Time  // when reading the list began
	found processList
}

// processList is a list of the database processes that are working. If `unknown` is set, the
// database has answered, but the list could not be read.
type processList struct {
	working map[backend]bool
	unknown bool
}

// works reports whether the database is still working on a connection's request, so that waiting for
// the answer makes sense. It returns false if the database cannot be reached, and true if the
// database answers but does not report its processes.
func (d *database) works(b backend) bool {
	now := time.Now()
	d.pulse.mu.Lock()
	defer d.pulse.mu.Unlock()
	if d.pulse.at.Before(now.Add(-d.doubt / 2)) {
		d.pulse.at = time.Now()
		d.pulse.found = d.listProcesses()
	}
	return d.pulse.found.unknown || d.pulse.found.working[b]
}

// working selects the database processes that are not waiting for their client. A process waits for
// its client until the next request arrives, or until the client has received an answer.
const working = "SELECT pid, backend_start::text FROM pg_stat_activity WHERE wait_event_type IS DISTINCT FROM 'Client' AND backend_type = 'client backend'"

func (d *database) listProcesses() processList {
	ctx, cancel := context.WithTimeout(context.Background(), processListTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, d.config.Copy())
	if err != nil {
		return processList{unknown: codeOf(err) != ""} // a refused connection shows that the database is running
	}
	defer func() { _ = conn.Close(ctx) }() // all results are read
	rows, err := conn.Query(ctx, working)
	if err != nil {
		return processList{unknown: codeOf(err) != ""}
	}
	found := processList{working: map[backend]bool{}}
	var b backend
	_, err = pgx.ForEachRow(rows, []any{&b.pid, &b.since}, func() error {
		found.working[b] = true
		return nil
	})
	if err != nil {
		return processList{unknown: codeOf(err) != ""}
	}
	return found
}

// meet returns the database process of a new connection. Until the connection ends, no copy of a
// store into the database can begin. If a copy ends soon, meet waits for its end. Errors: conflict
// while a copy is filling the database.
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
			// The database process is unknown, so d.works cannot tell whether it is working. Only
			// the time limit `silence` then ends a dead connection.
			return b, nil
		}
		return b, err
	}
	network := conn.PgConn().Conn()
	if secure, ok := network.(*tls.Conn); ok {
		network = secure.NetConn()
	}
	if w, ok := network.(*watchedConn); ok {
		w.know(b)
	}
	return b, nil
}

// end terminates the database process of a lost connection, if it still exists. The termination
// releases the locks of that process, and discards requests that the process may still receive. A
// process that waits for a standby is not terminated, because that would make data visible that is
// on no standby.
func (d *database) end(ctx context.Context, conn *pgx.Conn, b backend) error {
	_, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2"+
		" AND wait_event IS DISTINCT FROM 'SyncRep'", b.pid, b.since)
	if codeOf(err) != "" {
		return nil // not permitted; the database's own time limits end the process
	}
	return err
}
