package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/local"
)

// link is a command's connection to a server. The server is at an address, is the owner of the data
// directory, or runs in this process.
type link struct {
	*client.Client
	data string // "" with --server
	// own is set if this process owns the data directory.
	own *server.Server
	// reading is set if no process owns the data directory and this process only reads it.
	reading bool
	// owner is set if another process owns the data directory.
	owner *owner
	close func() error
}

// embedded reports whether runs of this command need their own worker, because no other worker
// would run them.
func (l *link) embedded() bool { return l.own != nil || (l.owner != nil && l.owner.Kind == ownerRun) }

// alone reports whether no process runs the run that the link shows.
func (l *link) alone() bool { return l.own != nil || l.reading }

// connectWithin is the time for which a command waits for an owner that is starting or stopping.
const connectWithin = 10 * time.Second

// connect connects to the server. embed determines how the data directory is opened if no process
// owns it.
func (a *app) connect(ctx context.Context, kind ownerKind) (*link, error) {
	if a.server != "" {
		c, err := client.New(client.Options{BaseURL: a.server, Key: a.key, Org: a.org})
		if err != nil {
			return nil, err
		}
		return &link{Client: c, close: func() error { c.Close(); return nil }}, nil
	}
	data, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	l, err := a.openOrJoin(ctx, data, kind)
	if err != nil || a.org == "" {
		return l, err
	}
	if _, err := l.Org(ctx, a.org); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// openOrJoin opens the data directory, or becomes a client of its owner.
func (a *app) openOrJoin(ctx context.Context, data string, kind ownerKind) (*link, error) {
	deadline := time.Now().Add(connectWithin)
	for {
		l, err := a.open(ctx, data, kind)
		var owned *server.OwnedError
		if !errors.As(err, &owned) {
			return l, err
		}
		if l, err = a.join(ctx, owned); err == nil {
			return l, nil
		}
		if !perdure.IsCode(err, perdure.Unavailable) || time.Now().After(deadline) {
			return nil, fmt.Errorf("process %d owns the data directory %s, but does not answer: %s", owned.PID, data, plainError(err))
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// reach connects to a server that is already running, for optional features.
func (a *app) reach(ctx context.Context) (*link, error) {
	if a.server != "" {
		return a.connect(ctx, ownerLook)
	}
	data, err := a.dataDir()
	if err != nil {
		return nil, err
	}
	return a.join(ctx, &server.OwnedError{Data: data, Socket: filepath.Join(data, "perdure.sock")})
}

// open opens the data directory and serves it on its socket while the command runs.
func (a *app) open(ctx context.Context, data string, kind ownerKind) (*link, error) {
	config := server.Config{Data: data, Store: a.store, StoreAllowOff: a.storeAllowOff, Dev: true, Version: programVersion(), Logger: a.logger(slog.LevelError + 1), TracerProvider: a.tracing.tracerProvider()}
	if kind == ownerRun {
		config.GRPCAddr = "127.0.0.1:0" // for the workers of runs that begin in the meantime
	}
	s, err := server.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := s.Listen(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	o := owner{Kind: kind, GRPC: s.GRPCAddress()}
	if err := o.write(data); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	stop, hide := a.serve(ctx, s), func() {}
	if kind == ownerLook {
		hide = showContents(data, a.orgOr(), s, local.Open)
	}
	c := a.socket(s.Socket(), s.Token())
	return &link{Client: c, data: data, own: s, close: func() error {
		c.Close()
		forgetOwner(data)
		err := stop()
		hide()
		return errors.Join(err, s.Close())
	}}, nil
}

// socket creates a client, for the command's org, of a server on a socket.
func (a *app) socket(path, token string) *client.Client {
	return client.Socket(path, token).With(func(o *client.Options) { o.Org = a.orgOr() })
}

// serve runs a server in the background until stop is called. If the server fails, the process
// ends, because the command would wait for it.
func (a *app) serve(ctx context.Context, s *server.Server) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := s.Run(ctx)
		if err != nil && ctx.Err() == nil {
			endAtOnce(err)
		}
		ended <- err
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// join becomes a client of the process that owns the data directory.
func (a *app) join(ctx context.Context, owned *server.OwnedError) (*link, error) {
	raw, err := os.ReadFile(server.TokenFile(owned.Data))
	if err != nil {
		return nil, &perdure.Error{Code: perdure.Unavailable, Message: "its token cannot be read", Err: err}
	}
	c := a.socket(owned.Socket, strings.TrimSpace(string(raw)))
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := c.Org(asked, perdure.DefaultOrg); err != nil && !perdure.IsCode(err, perdure.NotFound) { // an older server does not support orgs
		c.Close()
		if asked.Err() != nil && ctx.Err() == nil {
			err = perdure.Errorf(perdure.Unavailable, "no answer within 5 s")
		}
		return nil, err
	}
	o, err := readOwner(owned.Data)
	if err == nil && o.Kind == ownerLook {
		err = perdure.Errorf(perdure.Unavailable, "it is about to end")
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return &link{Client: c, data: owned.Data, owner: o, close: func() error { c.Close(); return nil }}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
