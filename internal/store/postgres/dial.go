package postgres

import (
	"context"
	"net"
	"sync"
	"time"
)

const (
	// dialTime bounds one attempt to open a connection.
	dialTime = 10 * time.Second
	// silence is how long the database may take to answer. It is longer than
	// statement_timeout: one that is silent for longer has not been reached, or
	// is at the other end of a connection that is dead without anyone saying so,
	// as after the failover of an address.
	silence = 75 * time.Second
)

// dial opens the network connections of a database. The system asks after a peer
// from which nothing comes, so that a machine that is gone is noticed within
// half a minute.
func (d *database) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout:         dialTime,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &watched{Conn: conn, silence: d.silence}, nil
}

// watched is a connection on which no answer is waited for longer than silence,
// whatever else its user allows.
type watched struct {
	net.Conn
	silence time.Duration

	mu sync.Mutex // guards until
	// until is the deadline that the user has set for reads.
	until time.Time
}

// Read implements net.Conn.
func (w *watched) Read(b []byte) (int, error) {
	w.mu.Lock()
	until := time.Now().Add(w.silence)
	if !w.until.IsZero() && w.until.Before(until) {
		until = w.until
	}
	err := w.Conn.SetReadDeadline(until)
	w.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return w.Conn.Read(b)
}

// SetDeadline implements net.Conn.
func (w *watched) SetDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = t
	return w.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (w *watched) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = t
	return w.Conn.SetReadDeadline(t)
}
