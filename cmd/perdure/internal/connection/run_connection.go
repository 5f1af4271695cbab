package connection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/remote"
)

// RunConn is the connection of a command that starts or continues a run. It includes a worker in
// this process if no other worker would execute the run.
type RunConn struct {
	*setup.App
	*Conn
	// Worker is the worker to start if the run needs one.
	Worker *builtin.Worker
	// HasWorker reports whether Worker is running.
	HasWorker bool

	queue      string           // the private queue of the worker
	line       *movableDispatch // the worker's connection; nil if there is no worker
	stopWorker func()
}

// Connect connects to the server, or opens the data directory.
func (r *RunConn) Connect(ctx context.Context) error {
	conn, err := Connect(ctx, r.App, OwnerRun)
	if err != nil {
		return err
	}
	r.Conn = conn
	if r.stopWorker == nil {
		r.stopWorker = func() {}
	}
	return nil
}

// StartWorker starts a worker for the queue if the run needs one in this process.
func (r *RunConn) StartWorker(ctx context.Context, queue string) error {
	if !r.NeedsWorker(queue) {
		return nil
	}
	if r.HasWorker && r.queue == queue {
		return nil
	}
	r.stopWorker() // the worker of another run of the same command
	r.HasWorker = false
	r.queue = queue
	log := r.Logger(slog.LevelError)
	s := r.Worker
	s.Dev, s.Queues, s.Drain, s.Logger = true, []string{queue}, -1, log
	s.Tracer, s.Version = r.Tracing.TracerProvider(), r.Version
	d, hangUp, err := r.dial(ctx, log)
	if err != nil {
		return err
	}
	line := newMovableDispatch(d, hangUp)
	end, err := s.Start(ctx, line, r.Conn.Data)
	if err != nil {
		line.close()
		return err
	}
	r.HasWorker, r.line = true, line
	r.stopWorker = sync.OnceFunc(func() { end(); line.close() })
	return nil
}

// NeedsWorker reports whether this command must run a worker for the queue, because no other worker
// takes work from it.
func (r *RunConn) NeedsWorker(queue string) bool {
	private := strings.HasPrefix(queue, PrivateQueue)
	return r.HasNoWorkers() || (private && r.Owner != nil && r.Owner.GRPC != "")
}

// dial connects this command's worker to its server: to the server in this process, or over the
// network to the server of the data directory's owner. The returned function `hangUp` ends the
// connection.
func (r *RunConn) dial(ctx context.Context, log *slog.Logger) (d perdure.Dispatch, hangUp func(), err error) {
	data := r.Conn.Data
	if r.own != nil {
		return r.own.Dispatch(r.OrgOrDefault()), func() {}, nil
	}
	raw, err := os.ReadFile(server.TokenFile(data))
	if err != nil {
		return nil, nil, err
	}
	leave, err := lockAsGuest(data)
	if err != nil {
		return nil, nil, err
	}
	options := remote.Options{Addr: r.Owner.GRPC, Token: strings.TrimSpace(string(raw)), Org: r.Org, Logger: log}
	if r.Owner.Certificate != "" {
		if options.TLS, err = setup.TrustCertificate(r.Owner.Certificate); err != nil {
			leave()
			return nil, nil, err
		}
	}
	c, err := remote.Dial(ctx, options)
	if err != nil {
		leave()
		return nil, nil, err
	}
	return c, func() { _ = c.Close(); leave() }, nil
}

// Reconnect connects again after the process that owned the data directory has ended. This process
// may now become the owner. If the run still needs a worker in this process, the worker continues,
// with the tools that it is running.
func (r *RunConn) Reconnect(ctx context.Context) error {
	_ = r.Conn.close() // the server has ended
	if err := r.Connect(ctx); err != nil {
		return err
	}
	if !r.HasWorker {
		return r.StartWorker(ctx, r.queue)
	}
	if !r.NeedsWorker(r.queue) {
		r.stopWorker()
		r.HasWorker = false
		return nil
	}
	d, hangUp, err := r.dial(ctx, r.Logger(slog.LevelError))
	if err != nil {
		return err
	}
	r.line.move(d, hangUp)
	return nil
}

// Close stops the worker and closes the connection. If this process owns the data directory, Close
// first waits until its guests (see lockAsGuest) have ended, or until ctx ends.
func (r *RunConn) Close(ctx context.Context) {
	r.stopWorker()
	last, there := r.guests()
	if there && ctx.Err() == nil {
		fmt.Fprintln(r.Stderr, "perdure: another run uses the data directory through this process, which stays until that has ended; Ctrl-C leaves at once")
	}
	for there && Pause(ctx, 200*time.Millisecond) == nil {
		last, there = r.guests()
	}
	if err := r.Conn.close(); err != nil && !errors.Is(err, context.Canceled) {
		r.Logger(slog.LevelError).Error("the server did not end well", "error", err)
	}
	if last != nil {
		_ = last.Close()
	}
}

func (r *RunConn) guests() (last *os.File, there bool) {
	if r.own == nil {
		return nil, false
	}
	return hasGuests(r.Conn.Data)
}
