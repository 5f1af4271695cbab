package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/local"
)

// read runs a command that only reads. If no server is running, it reads the data directory and
// writes nothing there.
func (a *app) read(ctx context.Context, do func(l *link) error) error {
	if a.server != "" || a.store != "" {
		return a.look(ctx, do)
	}
	l, err := a.openReading(ctx)
	if perdure.IsCode(err, perdure.NotFound) || perdure.IsCode(err, perdure.Conflict) {
		return a.look(ctx, do) // a store that must be created or migrated first
	}
	if err == nil && a.org != "" {
		_, err = l.Org(ctx, a.org)
	}
	if err == nil {
		err = do(l)
	}
	if l != nil {
		err = errors.Join(err, l.close())
	}
	return err
}

// openReading becomes a client of the data directory's owner, if it is running, or opens the
// directory for reading.
func (a *app) openReading(ctx context.Context) (*link, error) {
	data, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	l, err := a.join(ctx, &server.OwnedError{Data: data, Socket: filepath.Join(data, "perdure.sock")})
	if err == nil || !perdure.IsCode(err, perdure.Unavailable) {
		return l, err
	}
	r, err := server.OpenReading(ctx, server.Config{
		Data: data, Version: programVersion(), Logger: a.logger(slog.LevelError + 1), TracerProvider: a.tracing.tracerProvider(),
	})
	if err != nil {
		return nil, err
	}
	hide := showContents(data, a.orgOr(), r, local.OpenReading)
	c := client.Dialed(r.Dial, r.Token()).With(func(o *client.Options) { o.Org = a.orgOr() })
	return &link{Client: c, data: data, reading: true, close: func() error {
		c.Close()
		hide()
		return r.Close()
	}}, nil
}
