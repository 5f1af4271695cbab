package remote

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// wire is the list of a connection's open sockets, so that they can be closed. It does not wrap the
// sockets, because gRPC sets no socket options on a wrapped one.
type wire struct {
	mu   sync.Mutex // guards the field open
	open []net.Conn // may contain closed sockets until the next dial
}

func (w *wire) dial(ctx context.Context, addr string, last *lastError) (net.Conn, error) {
	var d net.Dialer
	network := "tcp"
	if path, found := strings.CutPrefix(addr, unixPrefix); found {
		network, addr = "unix", path
	}
	conn, err := d.DialContext(ctx, network, addr)
	last.set(err)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(slices.DeleteFunc(w.open, isClosed), conn)
	return conn, nil
}

func isClosed(conn net.Conn) bool {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	return err != nil || raw.Control(func(uintptr) {}) != nil
}

// cut closes the sockets of the connection, so that the client reconnects.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.open {
		_ = conn.Close() // the connection notices the close at its next read
	}
	w.open = nil
}
