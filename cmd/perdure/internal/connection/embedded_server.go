package connection

import (
	"context"
	"errors"
	"log/slog"

	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/local"
)

// openServer opens the data directory and serves it on its socket while the command runs.
func openServer(ctx context.Context, a *setup.App, data string, kind OwnerKind) (*Conn, error) {
	config := server.Config{Data: data, Store: a.Store, StoreAllowOff: a.StoreAllowOff, StorePlain: a.StorePlain, Dev: true, Version: a.Version, Catalog: builtin.Catalog(), Logger: a.Logger(slog.LevelError + 1), TracerProvider: a.Tracing.TracerProvider()}
	if kind == OwnerRun {
		config.GRPCAddr = "127.0.0.1:0" // for the workers of runs that begin in the meantime
	}
	s, err := server.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := s.Listen(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	o := Owner{Kind: kind, GRPC: s.GRPCAddress()}
	if err := o.Write(data); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	stop, hide := serveInBackground(ctx, a, s), func() {}
	if kind == OwnerRequest {
		hide = serveContents(data, a.OrgOrDefault(), s, local.Open)
	}
	c := socket(a, s.Socket(), s.Token())
	return &Conn{Client: c, Data: data, own: s, close: func() error {
		c.Close()
		RemoveOwner(data)
		err := stop()
		hide()
		return errors.Join(err, s.Close())
	}}, nil
}

// serveInBackground runs a server in the background until the returned function `stop` is called.
// If the server fails, the whole process ends, because the command would otherwise wait for the
// server forever.
func serveInBackground(ctx context.Context, a *setup.App, s *server.Server) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := s.Run(ctx)
		if err != nil && ctx.Err() == nil {
			setup.ExitNow(err)
		}
		ended <- err
	}()
	return func() error {
		cancel()
		return <-ended
	}
}
