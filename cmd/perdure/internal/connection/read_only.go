package connection

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/local"
)

// openReadOnly becomes a client of the data directory's owner, if an owner is running, or opens the
// directory for reading.
func openReadOnly(ctx context.Context, a *setup.App) (*Conn, error) {
	data, err := a.DataDir()
	if err != nil {
		return nil, err
	}
	conn, err := joinOwner(ctx, a, &server.OwnedError{Data: data, Socket: filepath.Join(data, "perdure.sock")})
	if err == nil || !perdure.IsCode(err, perdure.Unavailable) {
		return conn, err
	}
	r, err := server.OpenReadOnly(ctx, server.Config{
		Data: data, StorePlain: a.StorePlain, Version: a.Version, Catalog: builtin.Catalog(), Logger: a.Logger(slog.LevelError + 1), TracerProvider: a.Tracing.TracerProvider(),
	})
	if err != nil {
		return nil, err
	}
	hide := serveContents(data, a.OrgOrDefault(), r, local.OpenReadOnly)
	c := client.NewWithDialer(r.Dial, r.Token()).With(func(o *client.Options) { o.Org = a.OrgOrDefault() })
	return &Conn{Client: c, Data: data, reading: true, close: func() error {
		c.Close()
		hide()
		return r.Close()
	}}, nil
}
