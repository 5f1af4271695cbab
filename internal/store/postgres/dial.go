package postgres

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// dialTime is the time limit for opening a connection.
	dialTime = 5 * time.Second
	// silence is the time limit for an answer of the database, even while the database reports that
	// it is working on the request. It is longer than statement_timeout.
	silence = 75 * time.Second
	// doubt is the time after which a connection that transfers nothing is doubted: another
	// connection then asks the database whether the database is still working on the request.
	doubt = 2 * time.Second
	// onTheWay is how long an answer may take to arrive after the database has finished the request.
	onTheWay = time.Second
)

// dial opens a network connection to a database. The operating system sends keepalive probes, so
// that the loss of the database's machine is detected even on an idle connection.
func (d *database) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.open(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &watchedConn{Conn: conn, database: d}, nil
}

func openConn(ctx context.Context, network, addr string) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout:         dialTime,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3},
	}
	return dialer.DialContext(ctx, network, addr)
}

// errSilent is returned by reads and writes of a dead connection.
var errSilent = errors.New("the connection is dead: nothing comes over it, and the database does not work on what was asked")

// watchedConn is a network connection that detects when the other end is gone, as after a partition
// or the failover of an address. Its reads and writes then fail with errSilent instead of waiting.
// If it has received nothing for a while, it asks over another connection whether the database is
// still working on the request.
type watchedConn struct {
	net.Conn
	database *database

	mu sync.Mutex // guards the fields below
	// reads and writes are the deadlines that the driver has set.
	reads, writes time.Time
	peer          backend // the database process that serves the connection; zero while unknown
}

// Read implements net.Conn.
func (w *watchedConn) Read(b []byte) (int, error) {
	return w.patiently(
		func() (int, error) { return w.Conn.Read(b) },
		func() time.Time { return w.reads }, w.Conn.SetReadDeadline,
	)
}

// Write implements net.Conn.
func (w *watchedConn) Write(b []byte) (written int, err error) {
	for {
		n, err := w.patiently(
			func() (int, error) { return w.Conn.Write(b[written:]) },
			func() time.Time { return w.writes }, w.Conn.SetWriteDeadline,
		)
		if written += n; err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) || written == len(b) {
			return written, err
		}
	}
}

// patiently calls the function `do` until bytes were transferred, `do` has failed, the driver's
// deadline has passed, or the connection counts as dead. The function `limit` returns the driver's
// deadline; `set` sets the deadline for the next call of `do`.
func (w *watchedConn) patiently(do func() (int, error), limit func() time.Time, set func(time.Time) error) (int, error) {
	end, last := time.Now().Add(w.database.silence), false
	for {
		w.mu.Lock()
		step := w.database.doubt
		if last {
			step = onTheWay
		}
		until, ours := earliest(limit(), end, time.Now().Add(step))
		err := set(until)
		peer := w.peer
		w.mu.Unlock()
		if err != nil {
			return 0, err
		}
		n, err := do()
		switch {
		case n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !ours || w.passed(limit):
			return n, err
		case last || !time.Now().Before(end):
			return 0, errSilent
		}
		last = peer != backend{} && !w.database.works(peer)
	}
}

// passed reports whether the driver's deadline has passed. The driver may have changed the deadline
// during a read or write.
func (w *watchedConn) passed(limit func() time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := limit()
	return !at.IsZero() && !time.Now().Before(at)
}

// earliest returns the earliest of three deadlines. The parameter `users` is the driver's deadline;
// zero means that there is none. The parameters `end` and `step` are deadlines of the method
// `patiently`. The result `ours` reports whether one of these two is the earliest.
func earliest(users, end, step time.Time) (first time.Time, ours bool) {
	if first = step; end.Before(first) {
		first = end
	}
	if !users.IsZero() && users.Before(first) {
		return users, false
	}
	return first, true
}

// know stores which database process serves the connection.
func (w *watchedConn) know(peer backend) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peer = peer
}

// SetDeadline implements net.Conn.
func (w *watchedConn) SetDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads, w.writes = t, t
	return w.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (w *watchedConn) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = t
	return w.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (w *watchedConn) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = t
	return w.Conn.SetWriteDeadline(t)
}
