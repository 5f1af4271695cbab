package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// Follow returns the events of an execution after the cursor: first the events in the log, then new
// ones, until the execution has ended. The cursor "" is the start of the log.
//
// If the stream breaks, Follow resumes exactly after the last event that it returned. It pauses
// before each attempt, for a random time: at most 1 s before the first attempt, at most twice as
// long before each further attempt, and never more than 30 s. If the server requires a longer
// pause, Follow waits that long, but at most 5 min. After an event of type reset the caller must
// discard earlier events. If the first records of a log have been deleted, its first event is a
// reset.
//
// Follow ends with an error if ctx ends (the context's cause) or if the server refuses the request:
// unauthenticated, permission_denied, not_found, invalid_argument (cursor).
func (c *Client) Follow(ctx context.Context, id uuid.UUID, cursor string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &streamReader{c: c, id: id, cursor: cursor, yield: yield}
		if err := c.resumed(ctx, f.once); err != nil {
			yield(Event{}, err)
		}
	}
}

// resumed calls the function `once`, which reads one stream. After an error that may be temporary,
// it pauses and calls `once` again. It returns nil when `once` returns nil, or when the caller of
// Follow or FollowQuestions has left its loop over the events.
func (c *Client) resumed(ctx context.Context, once func(context.Context) (got bool, err error)) error {
	for tries := 0; ; tries++ {
		got, err := once(ctx)
		switch {
		case err == nil || errors.Is(err, errLeft):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !passing(err):
			return err
		}
		if got {
			tries = 0
		}
		if err := c.pause(ctx, tries, err); err != nil {
			return err
		}
	}
}

// errLeft reports that the caller of Follow or FollowQuestions has left its loop over the events.
var errLeft = errors.New("the reader has left")

// streamReader is the state of one call of Follow.
type streamReader struct {
	c      *Client
	id     uuid.UUID
	cursor string
	yield  func(Event, error) bool
}

// once reads one stream until its end. A nil error means that the log has ended. `got` reports
// whether the stream delivered an event or the end of the log.
func (f *streamReader) once(ctx context.Context) (got bool, err error) {
	header := http.Header{}
	if f.cursor != "" {
		header.Set("Last-Event-ID", f.cursor)
	}
	return f.c.events(ctx, request{
		method: http.MethodGet, path: []string{executions, f.id.String(), "stream", "consolidated"}, header: header,
	}, f.take)
}

// events reads a stream of server-sent events, and passes each event to the function `take`. At the
// end of the log, `take` returns io.EOF. `got` reports whether the stream delivered an event or its
// regular end.
func (c *Client) events(ctx context.Context, r request, take func(Event) error) (got bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(c.idle, func() { cancel(errSilent) })
	defer silent.Stop()
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set("Accept", "text/event-stream")
	resp, err := c.send(ctx, r)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // an error here loses no event
	if resp.StatusCode == http.StatusNoContent {
		return true, nil
	}
	in := newFrames(resp.Body, func() { silent.Reset(c.idle) })
	for {
		event, err := in.next()
		if err != nil {
			return got, broken(ctx, err)
		}
		got = true
		// The timer stops while the function `take` handles the event, because nothing is read
		// during that time.
		silent.Stop()
		err = take(event)
		silent.Reset(c.idle)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return true, nil
			}
			return true, err
		}
	}
}

// take updates the cursor and passes the event to the loop of the caller. It returns io.EOF at the end
// of the log.
func (f *streamReader) take(e Event) error {
	if e.Cursor != "" {
		f.cursor = e.Cursor
	}
	switch e.Type {
	case eventPing, "":
		return nil
	case eventEnd:
		return io.EOF
	}
	if !f.yield(e, nil) {
		return errLeft
	}
	return nil
}

var errSilent = &perdure.Error{Code: perdure.Unavailable, Message: "the stream has been silent for too long"}

// broken returns the error for a stream that broke before the end of the log.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &perdure.Error{Code: perdure.Unavailable, Message: "the stream broke off", Err: err}
}

// passing reports whether err may be temporary, so that another attempt can succeed.
func passing(err error) bool {
	switch perdure.CodeOf(err) {
	case perdure.Unavailable, perdure.RateLimited, perdure.Internal:
		return true
	}
	return false
}

// pause waits before the next attempt. `tries` is the number of earlier attempts since the last
// event.
func (c *Client) pause(ctx context.Context, tries int, cause error) error {
	pause := maxPause
	if tries < 5 { // 1, 2, 4, 8, 16 s
		pause = firstPause << tries
	}
	pause = pause/2 + time.Duration(c.rand()*float64(pause/2))
	var coded *perdure.Error
	if errors.As(cause, &coded) {
		pause = max(pause, min(coded.RetryAfter, 5*time.Minute))
	}
	if c.o.OnReconnect != nil {
		c.o.OnReconnect(cause, pause)
	}
	return c.wait(ctx, pause)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
