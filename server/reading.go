package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite"
)

// ReadOnlyServer serves the data directory's store to this process, without writing. It takes no lock,
// migrates no tables and runs no sweeps. Therefore it works on a full disk, and while a server uses
// the store.
type ReadOnlyServer struct {
	server *Server
	front  *http.Server
	line   *pipeListener
	ended  chan error
}

// OpenReadOnly opens the embedded store of c.Data for reading. It uses only Data, Logger, Version,
// Catalog and TracerProvider of c. Errors: not_found if there is no store, conflict if its tables have
// another version.
func OpenReadOnly(ctx context.Context, c Config) (*ReadOnlyServer, error) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Dev = true
	look, err := sqlite.OpenReadOnly(ctx, StoreFile(c.Data))
	if err != nil {
		return nil, err
	}
	look.WithoutTexts = c.StorePlain
	s := &Server{Config: c, stop: make(chan struct{}), fatal: make(chan error, 1), token: rand.Text(), store: readStore{look}}
	if err := s.assemble(observers{}); err != nil {
		return nil, errors.Join(err, look.Close())
	}
	r := &ReadOnlyServer{server: s, line: newPipeListener(), ended: make(chan error, 1)}
	r.front = front.NewServer(s.http, slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug))
	go func() { r.ended <- r.front.Serve(r.line) }()
	return r, nil
}

// Dial connects to the HTTP API.
func (r *ReadOnlyServer) Dial(ctx context.Context) (net.Conn, error) { return r.line.dial(ctx) }

// Token returns the bearer token with which a client authenticates as an operator.
func (r *ReadOnlyServer) Token() string { return r.server.token }

// ServeContents is like [Server.ServeContents].
func (r *ReadOnlyServer) ServeContents(org string, worker uuid.UUID, source perdure.ContentSource) (end func()) {
	return r.server.ServeContents(org, worker, source)
}

// Close stops serving and closes the store.
func (r *ReadOnlyServer) Close() error {
	close(r.server.stop)
	_ = r.front.Close() // the listener's Close never fails
	served := <-r.ended
	if errors.Is(served, http.ErrServerClosed) {
		served = nil
	}
	r.server.streams.Wait()
	return errors.Join(served, r.server.store.Close())
}

// readStore is a store that refuses writes.
type readStore struct{ *sqlite.ReadOnly }

var _ store.Store = readStore{}

// Do implements [store.Store].
func (readStore) Do(context.Context, store.Command) ([]any, error) {
	return nil, perdure.Errorf(perdure.Unavailable, "the store is open to be read")
}

// Tidy implements [store.Store].
func (readStore) Tidy(context.Context) error { return nil }

// pipeListener is a listener for connections within the process.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "reading", Net: "pipe"} }
