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

// seat is the place where a command runs its run: the connection to a server, and a worker if no
// other worker runs it.
type seat struct {
	*app
	*link
	standard *standard
	queue    string // the private queue of its worker

	works      bool // its own worker is running
	stopWorker func()
}

// connect connects to the server, or opens the data directory.
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

// needsWorker reports whether no other worker takes work from the queue.
func (t *seat) needsWorker(queue string) bool {
	private := strings.HasPrefix(queue, privateQueue)
	return t.embedded() || (private && t.owner != nil && t.owner.GRPC != "")
}

// dispatch returns the server of this command's worker. It is this process's own server, or the
// data directory's owner over the network.
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

// again connects again after the process that owned the data directory has ended. This process may
// now become the owner.
func (t *seat) again(ctx context.Context) error {
	t.stopWorker()
	_ = t.link.close() // the server has ended
	if err := t.connect(ctx); err != nil {
		return err
	}
	return t.work(ctx, t.queue)
}

// leave stops the worker and closes the link. The owner of the data directory waits for its guests
// first, unless it is interrupted.
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

// isPrivate reports whether a run is continued only by the command that started it, or by resume.
func isPrivate(x *perdure.Execution) bool { return strings.HasPrefix(x.Queue, privateQueue) }
