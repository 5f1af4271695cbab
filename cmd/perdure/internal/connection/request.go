package connection

import (
	"context"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
)

// Read runs a command that only reads. If no server is running, it reads the data directory and
// writes nothing there.
func Read(ctx context.Context, a *setup.App, do func(conn *Conn) error) error {
	if a.Server != "" || a.Store != "" {
		return Request(ctx, a, do)
	}
	conn, err := openReadOnly(ctx, a)
	if perdure.IsCode(err, perdure.NotFound) || perdure.IsCode(err, perdure.Conflict) {
		return Request(ctx, a, do) // the store must be created or migrated first
	}
	if err == nil && a.Org != "" {
		_, err = conn.Org(ctx, a.Org)
	}
	if err == nil {
		err = do(conn)
	}
	if conn != nil {
		err = errors.Join(err, conn.close())
	}
	return err
}

// Request runs a command that only makes requests to a server.
func Request(ctx context.Context, a *setup.App, do func(conn *Conn) error) error {
	conn, err := Connect(ctx, a, OwnerRequest)
	if err != nil {
		return err
	}
	if conn.own != nil {
		err = (&builtin.Worker{Version: a.Version}).RegisterKinds(ctx, conn.own.Dispatch(a.OrgOrDefault()))
	}
	if err == nil {
		err = do(conn)
	}
	if closed := conn.close(); err == nil {
		err = closed
	}
	return err
}
