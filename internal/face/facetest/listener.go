package facetest

import (
	"net"
	"sync"
)

// Connections tracks the connections to the server by the address of the client. The channel of an
// address in Over is closed when the server has closed the connection from that address.
type Connections struct {
	mu   sync.Mutex // guards Over
	Over map[string]chan struct{}
}

func (c *Connections) Of(addr string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Over == nil {
		c.Over = map[string]chan struct{}{}
	}
	if c.Over[addr] == nil {
		c.Over[addr] = make(chan struct{})
	}
	return c.Over[addr]
}

// Begin returns the channel of a new connection from addr. If an earlier connection from the same
// address is closed, the new connection gets a new channel.
func (c *Connections) Begin(addr string) chan struct{} {
	over := c.Of(addr)
	select {
	case <-over:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Over[addr] = make(chan struct{})
		return c.Over[addr]
	default:
		return over
	}
}

// WatchedListener records in All when the server closes a connection, whichever part of the server
// does it.
type WatchedListener struct {
	net.Listener
	All *Connections
}

func (l WatchedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	over := l.All.Begin(conn.RemoteAddr().String())
	return &countedConn{Conn: conn, Over: sync.OnceFunc(func() { close(over) })}, nil
}

type countedConn struct {
	net.Conn
	Over func()
}

func (c *countedConn) Close() error {
	c.Over()
	return c.Conn.Close()
}
