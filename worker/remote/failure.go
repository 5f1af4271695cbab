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

// reconnect is the backoff of a broken connection. The pauses are short, because paid work waits
// for the connection.
var reconnect = grpcbackoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}

// lastError holds the last error of connecting, which gRPC reports only to calls.
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

// watch wraps credentials to record errors of the TLS handshake.
func (l *lastError) watch(secure credentials.TransportCredentials) credentials.TransportCredentials {
	return watched{secure, l}
}

type watched struct {
	credentials.TransportCredentials
	last *lastError
}

func (w watched) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, auth, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	w.last.set(err)
	return conn, auth, err
}

func (w watched) Clone() credentials.TransportCredentials {
	return watched{w.TransportCredentials.Clone(), w.last}
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

// fail converts an error of a gRPC call to an error of the domain.
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
	// The deadline is sent with the call, and the server may notice it first.
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

// ended reports whether a call failed because a context ended.
func ended(err error) bool {
	code := status.Code(err)
	return code == grpccodes.Canceled || code == grpccodes.DeadlineExceeded ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// again retries a call until it returns something other than unavailable or rate_limited, or ctx
// ends. It is for calls that may be delivered twice. A reconnect ends the pause before the next
// try.
func again[T any](ctx context.Context, c *Client, name string, call func(context.Context) (T, error)) (T, error) {
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.frames.ctx, cancel)() // Close also ends the pauses
	pauses := c.pauses()
	var unavailable error
	for {
		back := c.line.back() // before the call, so that no reconnect is missed
		reply, err := call(trying)
		err = c.fail(trying, err)
		if err == nil {
			return reply, nil
		}
		if !refusedForNow(err) {
			return reply, c.lastWord(ctx, err, unavailable)
		}
		unavailable = err
		wait, atOnce := pauseAfter(err, pauses.NextBackOff(), back)
		c.o.Logger.WarnContext(ctx, "the server did not answer; trying again", "call", name, "in", wait, "error", err)
		if err := rest(trying, wait, atOnce); err != nil {
			return reply, c.lastWord(ctx, err, unavailable)
		}
	}
}

// shortPauses returns the backoff between the tries of a call.
func shortPauses() backoff.BackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 50*time.Millisecond, 5*time.Second
	pauses.Reset()
	return pauses
}

// refusedForNow reports whether the same call may succeed later.
func refusedForNow(err error) bool {
	return (perdure.IsCode(err, perdure.Unavailable) || perdure.IsCode(err, perdure.RateLimited)) && !errors.Is(err, errClosed)
}

// pauseAfter returns the pause before the next try, and the channel that ends it early. If the
// server sent a pause, the server is reachable, so no reconnect ends the pause.
func pauseAfter(err error, pause time.Duration, back <-chan struct{}) (time.Duration, <-chan struct{}) {
	var coded *perdure.Error
	if errors.As(err, &coded) && coded.RetryAfter > 0 {
		return coded.RetryAfter, nil
	}
	return pause, back
}

// rest waits for the pause or early. It returns the cause of ctx if ctx ends first.
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

// lastWord returns the error of a call that is not retried.
func (c *Client) lastWord(ctx context.Context, err, unavailable error) error {
	switch {
	case c.frames.ctx.Err() != nil:
		return errClosed
	case errors.Is(err, context.DeadlineExceeded):
		return overdue(err, unavailable)
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return ctx.Err()
	}
	return err
}

// overdue returns the error of a call that timed out: the reason, if it is known, with the end of
// its context as a cause.
func overdue(err, unavailable error) error {
	var coded *perdure.Error
	if !errors.As(unavailable, &coded) {
		return err
	}
	late := *coded
	late.Err = errors.Join(err, coded.Err)
	return &late
}
