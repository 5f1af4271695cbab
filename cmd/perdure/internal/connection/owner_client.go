package connection

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/server"
)

// openOrJoin opens the data directory and becomes its owner. If another process owns the directory,
// openOrJoin connects to that process as a client.
func openOrJoin(ctx context.Context, a *setup.App, data string, kind OwnerKind) (*Conn, error) {
	deadline := time.Now().Add(ConnectTimeout)
	for {
		conn, err := openServer(ctx, a, data, kind)
		var owned *server.OwnedError
		if !errors.As(err, &owned) {
			return conn, err
		}
		if conn, err = joinOwner(ctx, a, owned); err == nil {
			return conn, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil, &perdure.Error{Code: perdure.InvalidArgument, Message: fmt.Sprintf("process %d owns the data directory, whose token cannot be read", owned.PID), Err: errors.Unwrap(err)}
		}
		if !perdure.IsCode(err, perdure.Unavailable) || time.Now().After(deadline) {
			return nil, fmt.Errorf("process %d owns the data directory %s, but does not answer: %s", owned.PID, data, terminal.ErrorMessage(err))
		}
		if err := Pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// socket returns a client for the server that listens on the socket at path. The client uses the org of the
// command.
func socket(a *setup.App, path, token string) *client.Client {
	return client.Socket(path, token).With(func(o *client.Options) { o.Org = a.OrgOrDefault() })
}

// joinOwner connects, as a client, to the process that owns the data directory.
func joinOwner(ctx context.Context, a *setup.App, owned *server.OwnedError) (*Conn, error) {
	raw, err := os.ReadFile(server.TokenFile(owned.Data))
	if err != nil {
		return nil, &perdure.Error{Code: perdure.Unavailable, Message: "its token cannot be read", Err: err}
	}
	c := socket(a, owned.Socket, strings.TrimSpace(string(raw)))
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := c.Org(asked, perdure.DefaultOrg); err != nil && !perdure.IsCode(err, perdure.NotFound) { // an older server does not support orgs
		c.Close()
		if asked.Err() != nil && ctx.Err() == nil {
			err = perdure.Errorf(perdure.Unavailable, "no answer within 5 s")
		}
		return nil, err
	}
	o, err := ReadOwner(owned.Data)
	if err == nil && o.Kind == OwnerRequest {
		err = perdure.Errorf(perdure.Unavailable, "it is about to end")
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return &Conn{Client: c, Data: owned.Data, Owner: o, close: func() error { c.Close(); return nil }}, nil
}
