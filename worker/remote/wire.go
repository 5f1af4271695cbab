package remote

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// wire is the sockets of a connection. They are gRPC's own as they are: it sets
// options of theirs that it does not find on a wrapped one.
type wire struct {
	mu   sync.Mutex // guards open
	open []net.Conn // and those that were closed since the last one was made
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

// cut breaks what is connected, so that it is connected again.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.open {
		_ = conn.Close() // the connection learns of it by its reads
	}
	w.open = nil
}
