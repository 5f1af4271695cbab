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

// reconnect is how a broken connection is tried again.
var reconnect = grpcbackoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second}

// lastError keeps why the connection could not be made, which gRPC tells only
// to calls.
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

// watch notes errors of the TLS handshake.
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

// errClosed is what calls give after Close.
var errClosed = perdure.Errorf(perdure.Unavailable, "the connection to the server was closed by this worker")

// fail gives the domain's error for one that a call of ours gave.
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
	// The deadline goes with the call, and the server may notice it first.
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

// ended tells whether a call failed by the end of a context.
func ended(err error) bool {
	code := status.Code(err)
	return code == grpccodes.Canceled || code == grpccodes.DeadlineExceeded ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// again makes a call until it is answered with anything but unavailable or
// rate_limited, or ctx is over. It is for calls that may be delivered twice.
func again[T any](ctx context.Context, c *Client, name string, call func(context.Context) (T, error)) (T, error) {
	trying, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.frames.ctx, cancel)() // Close ends the pauses, too
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, 5*time.Second
	var unavailable error
	reply, err := backoff.Retry(trying, func() (T, error) {
		reply, err := call(trying)
		err = c.fail(trying, err)
		switch {
		case err == nil:
			return reply, nil
		case !perdure.IsCode(err, perdure.Unavailable) && !perdure.IsCode(err, perdure.RateLimited) || errors.Is(err, errClosed):
			return reply, backoff.Permanent(err)
		}
		unavailable = err
		return reply, retryAfter(err)
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, pause time.Duration) {
		c.o.Logger.WarnContext(ctx, "the server did not answer; trying again", "call", name, "in", pause, "error", err)
	}))
	switch {
	case err == nil:
		return reply, nil
	case c.frames.ctx.Err() != nil:
		return reply, errClosed
	case errors.Is(err, context.DeadlineExceeded):
		return reply, overdue(err, unavailable)
	case errors.Is(err, context.Cause(ctx)):
		return reply, ctx.Err()
	}
	return reply, err
}

// retryAfter lets the server choose the pause.
func retryAfter(err error) error {
	var coded *perdure.Error
	if errors.As(err, &coded) && coded.RetryAfter > 0 {
		return errors.Join(err, &backoff.RetryAfterError{Duration: coded.RetryAfter})
	}
	return err
}

// overdue gives the error of a call whose time was over: why it was not
// answered, if that is known, with the end of its context as a cause.
func overdue(err, unavailable error) error {
	var coded *perdure.Error
	if !errors.As(unavailable, &coded) {
		return err
	}
	late := *coded
	late.Err = errors.Join(err, coded.Err)
	return &late
}
