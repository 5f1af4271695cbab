package grpcapi

import (
	"context"
	"net"
	"sync"

	"github.com/google/uuid"
	"google.golang.org/grpc/peer"
)

// workerConnections records over which connections each worker has made calls.
type workerConnections struct {
	gone     func(org string, worker uuid.UUID)
	draining <-chan struct{}

	mu  sync.Mutex // guards all
	all map[string]map[workerRef]bool
}

// workerRef identifies a worker by org and id.
type workerRef struct {
	org    string
	worker uuid.UUID
}

// note records that a worker has made a call over the connection of the context ctx. It ignores
// unix sockets, because all connections over such a socket have the same address.
func (l *workerConnections) note(ctx context.Context, org string, worker uuid.UUID) {
	from, ok := peer.FromContext(ctx)
	if !ok || l.gone == nil || worker == uuid.Nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if on := l.all[from.Addr.String()]; on != nil {
		on[workerRef{org, worker}] = true
	}
}

func (l *workerConnections) begin(addr string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]map[workerRef]bool{}
	}
	l.all[addr] = map[workerRef]bool{}
}

// end is called when the connection with the address `addr` has ended. It reports the workers that
// have no other open connection. While the server is stopping, it reports none.
func (l *workerConnections) end(addr string) {
	for _, end := range l.cut(addr) {
		select {
		case <-l.draining:
		default:
			l.gone(end.org, end.worker)
		}
	}
}

func (l *workerConnections) cut(addr string) (left []workerRef) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := l.all[addr]
	delete(l.all, addr)
	for end := range mine {
		elsewhere := false
		for _, on := range l.all {
			elsewhere = elsewhere || on[end]
		}
		if !elsewhere {
			left = append(left, end)
		}
	}
	return left
}

// listen returns a listener that reports to `l` when an accepted connection begins and ends.
func (l *workerConnections) listen(from net.Listener) net.Listener {
	if l.gone == nil || from.Addr().Network() != "tcp" {
		return from
	}
	return watchedListener{from, l}
}

type watchedListener struct {
	net.Listener
	lines *workerConnections
}

func (w watchedListener) Accept() (net.Conn, error) {
	conn, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	addr := conn.RemoteAddr().String()
	w.lines.begin(addr)
	return &watchedConn{Conn: conn, end: sync.OnceFunc(func() { w.lines.end(addr) })}, nil
}

// watchedConn is a connection that calls the function `end` when it is closed. gRPC closes the
// connection after the worker has disconnected.
type watchedConn struct {
	net.Conn
	end func()
}

func (c *watchedConn) Close() error {
	err := c.Conn.Close()
	c.end()
	return err
}
