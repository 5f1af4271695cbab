// Package connection connects commands to a server: to one at an address, to the process that owns
// the data directory, or to one that it opens in this process.
package connection

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/server"
)

// Conn is a command's connection to a server. The server is at an address, is the owner of the data
// directory, or runs in this process.
type Conn struct {
	*client.Client
	// Data is the data directory; "" with --server.
	Data string
	// own is set if this process owns the data directory.
	own *server.Server
	// reading is set if no process owns the data directory and this process only reads it.
	reading bool
	// Owner is set if another process owns the data directory.
	Owner *Owner
	close func() error
}

// HasNoWorkers reports whether runs of this command need their own worker, because no other worker
// would run them.
func (conn *Conn) HasNoWorkers() bool {
	return conn.own != nil || (conn.Owner != nil && conn.Owner.Kind == OwnerRun)
}

// Offline reports whether no other process uses the data directory. Then no worker executes the
// runs of the data directory.
func (conn *Conn) Offline() bool { return conn.own != nil || conn.reading }

// Close ends the connection, and the server in this process if there is one.
func (conn *Conn) Close() error { return conn.close() }

// ConnectTimeout is the time for which a command waits while the process that owns the data directory
// starts or stops.
const ConnectTimeout = 10 * time.Second

// Connect connects to the server that the flags select. If no process owns the data directory, this
// process becomes its owner, of the given kind.
func Connect(ctx context.Context, a *setup.App, kind OwnerKind) (*Conn, error) {
	if a.Server != "" {
		c, err := client.New(client.Options{BaseURL: a.Server, Key: a.Key, Org: a.Org})
		if err != nil {
			return nil, err
		}
		return &Conn{Client: c, close: func() error { c.Close(); return nil }}, nil
	}
	data, err := a.DataDir()
	if err != nil {
		return nil, err
	}
	conn, err := openOrJoin(ctx, a, data, kind)
	if err != nil || a.Org == "" {
		return conn, err
	}
	if _, err := conn.Org(ctx, a.Org); err != nil {
		return nil, errors.Join(err, conn.close())
	}
	return conn, nil
}

// ConnectRunning connects to a server that is already running, and never opens the data directory.
// It is for optional features such as completion.
func ConnectRunning(ctx context.Context, a *setup.App) (*Conn, error) {
	if a.Server != "" {
		return Connect(ctx, a, OwnerRequest)
	}
	data, err := a.DataDir()
	if err != nil {
		return nil, err
	}
	return joinOwner(ctx, a, &server.OwnedError{Data: data, Socket: filepath.Join(data, "perdure.sock")})
}

// Pause waits for a time. It returns the cause of the context if the context ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
