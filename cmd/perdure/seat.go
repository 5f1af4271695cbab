package main

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
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/remote"
)

// seat is where a command runs its run: the way to a server, and a worker if
// nobody else is there to run it.
type seat struct {
	*app
	*link
	standard *standard
	queue    string // the private one that its worker takes from

	works      bool // a worker of its own runs
	stopWorker func()
}

// connect finds the server, or opens the data directory.
func (t *seat) connect(ctx context.Context) error {
	l, err := t.app.connect(ctx, ownerRun)
	if err != nil {
		return err
	}
	t.link, t.stopWorker = l, func() {}
	return nil
}

// work starts a worker for the queue if the run needs one here.
func (t *seat) work(ctx context.Context, queue string) error {
	if !t.needsWorker(queue) {
		return nil
	}
	t.queue = queue
	log := t.logger(slog.LevelError)
	s := t.standard
	s.dev, s.queues, s.drain, s.logger = true, []string{queue}, -1, log
	s.tracer = t.tracing.tracerProvider()
	d, hangUp, err := t.dispatch(ctx, log)
	if err != nil {
		return err
	}
	end, err := s.start(ctx, d, t.link.data)
	if err != nil {
		hangUp()
		return err
	}
	t.works = true
	t.stopWorker = sync.OnceFunc(func() { end(); hangUp() })
	return nil
}

// needsWorker reports whether nobody else takes work from the queue.
func (t *seat) needsWorker(queue string) bool {
	private := strings.HasPrefix(queue, privateQueue)
	return t.embedded() || (private && t.owner != nil && t.owner.GRPC != "")
}

// dispatch is what a worker of this command speaks to: this process's own
// server, or over the network the one that owns the data directory.
func (t *seat) dispatch(ctx context.Context, log *slog.Logger) (d perdure.Dispatch, hangUp func(), err error) {
	data := t.link.data
	if t.own != nil {
		return t.own.Dispatch(t.orgOr()), func() {}, nil
	}
	raw, err := os.ReadFile(server.TokenFile(data))
	if err != nil {
		return nil, nil, err
	}
	leave, err := beGuest(data)
	if err != nil {
		return nil, nil, err
	}
	options := remote.Options{Addr: t.owner.GRPC, Token: strings.TrimSpace(string(raw)), Org: t.org, Logger: log}
	if t.owner.Certificate != "" {
		if options.TLS, err = trusting(t.owner.Certificate); err != nil {
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

// again takes a seat again after the process that owned the data directory has
// gone: now this one may own it.
func (t *seat) again(ctx context.Context) error {
	t.stopWorker()
	_ = t.link.close() // the server is gone
	if err := t.connect(ctx); err != nil {
		return err
	}
	return t.work(ctx, t.queue)
}

// leave ends worker and link. The owner of the data directory waits for its
// guests first, unless it is interrupted.
func (t *seat) leave(ctx context.Context) {
	t.stopWorker()
	last, there := t.guests()
	if there && ctx.Err() == nil {
		fmt.Fprintln(t.stderr, "perdure: another run uses the data directory through this process, which stays until that has ended; Ctrl-C leaves at once")
	}
	for there && pause(ctx, 200*time.Millisecond) == nil {
		last, there = t.guests()
	}
	if err := t.link.close(); err != nil && !errors.Is(err, context.Canceled) {
		t.logger(slog.LevelError).Error("the server did not end well", "error", err)
	}
	if last != nil {
		_ = last.Close()
	}
}

func (t *seat) guests() (last *os.File, there bool) {
	if t.own == nil {
		return nil, false
	}
	return hasGuests(t.link.data)
}

// isPrivate reports whether only the command that a run was started by, or
// resume, continues with it.
func isPrivate(x *perdure.Execution) bool { return strings.HasPrefix(x.Queue, privateQueue) }
