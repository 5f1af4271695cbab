package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	grpcbackoff "google.golang.org/grpc/backoff"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// reconnect says how long the client pauses between tries to restore a connection. The pauses are
// short, because results of calls that cost money, such as model calls, wait for the connection.
var reconnect = grpcbackoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}

// lastError stores the error of the last try to connect. Dial returns that error; gRPC itself reports
// it only to calls.
type lastError struct {
	mu  sync.Mutex
	err error
}

func (l *lastError) set(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *lastError) get() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// watch returns credentials that do the same as `secure`, and also store errors of the TLS
// handshake in l.
func (l *lastError) watch(secure credentials.TransportCredentials) credentials.TransportCredentials {
	return handshakeRecorder{secure, l}
}

type handshakeRecorder struct {
	credentials.TransportCredentials
	last *lastError
}

func (w handshakeRecorder) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, auth, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	w.last.set(err)
	return conn, auth, err
}

func (w handshakeRecorder) Clone() credentials.TransportCredentials {
	return handshakeRecorder{w.TransportCredentials.Clone(), w.last}
}

func unreachable(addr string, why error) error {
	if why == nil {
		why = errors.New("no answer")
	}
	return &perdure.Error{
		Code: perdure.Unavailable, Err: why,
		Message: fmt.Sprintf("there is no Perdure server at %s; start one, or give the address of its gRPC port (and TLS, if it wants it)", addr),
	}
}

// errClosed is the error of calls after Close.
var errClosed = perdure.Errorf(perdure.Unavailable, "the connection to the server was closed by this worker")

// fail converts the error of a gRPC call to a perdure.Error. If ctx has ended, it returns the error
// of ctx.
func (c *Client) fail(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if c.frames.ctx.Err() != nil {
		return errClosed
	}
	if ctx.Err() != nil && ended(err) {
		return ctx.Err()
	}
	// The server knows the deadline of the call, and may notice before this client that the
	// deadline has passed.
	if _, limited := ctx.Deadline(); limited && status.Code(err) == grpccodes.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	err = pbconv.FromStatus(err)
	var coded *perdure.Error
	if !errors.As(err, &coded) {
		return err
	}
	switch {
	case coded.Code == perdure.Unauthenticated:
		return &perdure.Error{
			Code: coded.Code, Fields: coded.Fields, Err: err,
			Message: fmt.Sprintf("the server at %s refused the API key; give one of the role worker that is not revoked", c.o.Addr),
		}
	case coded.Code == perdure.Unavailable && coded.Err != nil && status.Code(coded.Err) == grpccodes.Unavailable:
		return unreachable(c.o.Addr, coded.Err)
	case coded.Err != nil && status.Code(coded.Err) == grpccodes.Unimplemented:
		return &perdure.Error{
			Code: perdure.Internal, Err: coded.Err,
			Message: fmt.Sprintf("the server at %s does not know this call: it is no Perdure server, or of an older version than this worker", c.o.Addr),
		}
	}
	return err
}

// ended reports whether err means that a context has ended.
func ended(err error) bool {
	code := status.Code(err)
	return code == grpccodes.Canceled || code == grpccodes.DeadlineExceeded ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// again repeats a call while its error is unavailable or rate_limited, until ctx ends or the client
// is closed. The server may receive the call twice. A reconnect ends the pause before the next try,
// unless the server has said how long to wait.
func again[T any](ctx context.Context, c *Client, name string, call func(context.Context) (T, error)) (T, error) {
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.frames.ctx, cancel)() // Close ends the pauses, too
	pauses := c.pauses()
	var unavailable error
	for {
		back := c.line.back() // taken before the call, so that no reconnect after it is missed
		reply, err := call(trying)
		err = c.fail(trying, err)
		if err == nil {
			return reply, nil
		}
		if !isTemporary(err) {
			return reply, c.finalError(ctx, err, unavailable)
		}
		unavailable = err
		wait, atOnce := pauseAfter(err, pauses.NextBackOff(), back)
		c.o.Logger.WarnContext(ctx, "the server did not answer; trying again", "call", name, "in", wait, "error", err)
		if err := rest(trying, wait, atOnce); err != nil {
			return reply, c.finalError(ctx, err, unavailable)
		}
	}
}

// shortPauses returns growing pauses between the tries of a call, from 50 ms to 5 s.
func shortPauses() backoff.BackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 50*time.Millisecond, 5*time.Second
	pauses.Reset()
	return pauses
}

// isTemporary reports whether a call with this error may succeed when it is repeated.
func isTemporary(err error) bool {
	return (perdure.IsCode(err, perdure.Unavailable) || perdure.IsCode(err, perdure.RateLimited)) && !errors.Is(err, errClosed)
}

// pauseAfter returns the pause before the next try, and a channel that ends the pause at a reconnect. If
// the server has said how long to wait, the channel is nil, because the server can be reached.
func pauseAfter(err error, pause time.Duration, back <-chan struct{}) (time.Duration, <-chan struct{}) {
	var coded *perdure.Error
	if errors.As(err, &coded) && coded.RetryAfter > 0 {
		return coded.RetryAfter, nil
	}
	return pause, back
}

// rest waits for the pause, or until the channel `early` is closed. If ctx ends first, it returns
// the cause of ctx.
func rest(ctx context.Context, pause time.Duration, early <-chan struct{}) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
	case <-early:
	}
	return nil
}

// finalError returns the error of a call that is not tried again: errClosed after Close, err with the error
// of the earlier tries if the deadline has passed, and err otherwise.
func (c *Client) finalError(ctx context.Context, err, unavailable error) error {
	switch {
	case c.frames.ctx.Err() != nil:
		return errClosed
	case errors.Is(err, context.DeadlineExceeded):
		return deadlineError(err, unavailable)
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return ctx.Err()
	}
	return err
}

// deadlineError returns the error of a call whose deadline has passed. That is err, joined with the
// error of the earlier tries, if there is one.
func deadlineError(err, unavailable error) error {
	var coded *perdure.Error
	if !errors.As(unavailable, &coded) {
		return err
	}
	late := *coded
	late.Err = errors.Join(err, coded.Err)
	return &late
}
