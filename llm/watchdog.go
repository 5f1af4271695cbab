package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// watchedTransport ends a call if the first byte of its response, or a later byte, does not arrive
// in time. It returns an *Error for a redirect.
type watchedTransport struct {
	next            *http.Transport
	firstByte, idle time.Duration
}

// CloseIdleConnections closes the idle connections of the next transport; http.Client calls it.
func (t *watchedTransport) CloseIdleConnections() { t.next.CloseIdleConnections() }

func (t *watchedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(t.firstByte, func() { cancel(silence(t.firstByte)) })
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		timer.Stop()
		defer cancel(nil)
		return nil, causeOf(ctx, req.Context(), err)
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		timer.Stop()
		cancel(nil)
		_ = resp.Body.Close() // the body is not used
		return nil, &Error{
			Kind: InvalidRequest, Status: resp.StatusCode,
			Message: "the endpoint answered with a redirect, which is not followed; check the base URL",
		}
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, ctx: ctx, caller: req.Context(), cancel: cancel, timer: timer, idle: t.idle}
	return resp, nil
}

// watchedBody is a response body. A read fails if no byte arrives in time. After the first byte,
// the time between reads does not count.
type watchedBody struct {
	io.ReadCloser
	ctx, caller context.Context
	cancel      context.CancelCauseFunc
	timer       *time.Timer
	idle        time.Duration
	begun       bool // whether the first read has ended; timer is then a new one for each read
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.begun {
		b.timer = time.AfterFunc(b.idle, func() { b.cancel(silence(b.idle)) })
	}
	n, err := b.ReadCloser.Read(p)
	if n > 0 || err != nil {
		b.timer.Stop()
		b.begun = true
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = causeOf(b.ctx, b.caller, err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.timer.Stop()
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// causeOf returns the timeout error if a timer has ended the call and the caller's context has not
// ended. Otherwise it returns err.
func causeOf(ctx, caller context.Context, err error) error {
	if caller.Err() != nil {
		return err
	}
	if own, ok := context.Cause(ctx).(*Error); ok {
		return own
	}
	return err
}

func silence(d time.Duration) *Error {
	return &Error{Kind: Timeout, Retryable: true, Message: "the provider sent nothing for " + d.String()}
}
