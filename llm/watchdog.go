package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// watchedTransport ends calls whose answer does not begin, or stops coming, and
// refuses redirects.
type watchedTransport struct {
	next            *http.Transport
	firstByte, idle time.Duration
}

// CloseIdleConnections lets http.Client close the connections it keeps.
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
		_ = resp.Body.Close() // nothing of it was wanted
		return nil, &Error{
			Kind: InvalidRequest, Status: resp.StatusCode,
			Message: "the endpoint answered with a redirect, which is not followed; check the base URL",
		}
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, ctx: ctx, caller: req.Context(), cancel: cancel, timer: timer, idle: t.idle}
	return resp, nil
}

// watchedBody gives up when a read waits longer than allowed. The timer runs
// only while a read waits: a slow reader is not the provider's silence.
type watchedBody struct {
	io.ReadCloser
	ctx, caller context.Context
	cancel      context.CancelCauseFunc
	timer       *time.Timer
	idle        time.Duration
	begun       bool // a byte has come, or the first timer has been replaced
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

// causeOf is the watchdog's error if it ended the call, else err. A caller that
// has ended the call himself comes first.
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
