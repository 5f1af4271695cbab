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
	// dialTime bounds one attempt to open a connection.
	dialTime = 5 * time.Second
	// silence is how long the database may take to answer, whatever it says of
	// itself. It is longer than statement_timeout.
	silence = 75 * time.Second
	// doubt is how long nothing may come over a connection before the database is
	// asked, over another one, whether it still works on what was asked.
	doubt = 2 * time.Second
	// onTheWay is how long an answer may be on its way that the database has given.
	onTheWay = time.Second
)

// dial opens the network connections of a database. The system asks after a peer
// from which nothing comes, so that a machine that is gone is noticed on a
// connection that is not in use, too.
func (d *database) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.open(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &watched{Conn: conn, database: d}, nil
}

func openConn(ctx context.Context, network, addr string) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout:         dialTime,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3},
	}
	return dialer.DialContext(ctx, network, addr)
}

// errSilent is what reads and writes of a dead connection give.
var errSilent = errors.New("the connection is dead: nothing comes over it, and the database does not work on what was asked")

// watched is a connection that is given up when it is dead and nobody says so, as
// after the failover of an address or a partition: where nothing has come for a
// while, the database is asked over another connection.
type watched struct {
	net.Conn
	database *database

	mu sync.Mutex // guards what follows
	// reads and writes are the deadlines that the user has set.
	reads, writes time.Time
	peer          backend // zero until it is known
}

// Read implements net.Conn.
func (w *watched) Read(b []byte) (int, error) {
	return w.patiently(
		func() (int, error) { return w.Conn.Read(b) },
		func() time.Time { return w.reads }, w.Conn.SetReadDeadline,
	)
}

// Write implements net.Conn.
func (w *watched) Write(b []byte) (written int, err error) {
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

// patiently does what comes to an end when bytes have gone over, the user's
// deadline is over or the connection is given up.
func (w *watched) patiently(do func() (int, error), limit func() time.Time, set func(time.Time) error) (int, error) {
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

// passed reports whether the user's deadline is over, which may have been set
// meanwhile.
func (w *watched) passed(limit func() time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := limit()
	return !at.IsZero() && !time.Now().Before(at)
}

// earliest returns the first of a user's deadline, which may be none, and ours, and
// whether it is one of ours.
func earliest(users, end, step time.Time) (first time.Time, ours bool) {
	if first = step; end.Before(first) {
		first = end
	}
	if !users.IsZero() && users.Before(first) {
		return users, false
	}
	return first, true
}

// know tells who is at the other end.
func (w *watched) know(peer backend) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.peer = peer
}

// SetDeadline implements net.Conn.
func (w *watched) SetDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads, w.writes = t, t
	return w.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (w *watched) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = t
	return w.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (w *watched) SetWriteDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = t
	return w.Conn.SetWriteDeadline(t)
}
