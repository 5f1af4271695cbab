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

// Follow returns the events of an execution after the cursor, first those of the log, then new
// ones, until the execution has ended. The cursor "" is the start of the log.
//
// If the stream breaks, Follow resumes exactly after the last event that it returned. The pause
// before the first attempt is up to 1 s; the limit doubles up to 30 s, with jitter. If the server
// requires a longer pause, Follow waits that long, but at most 5 min. After an event of type reset
// the caller must drop earlier events. A log whose first records have been deleted begins with a
// reset.
//
// Follow ends with an error if ctx ends (the context's cause) or if the server refuses:
// unauthenticated, permission_denied, not_found, invalid_argument (cursor).
func (c *Client) Follow(ctx context.Context, id uuid.UUID, cursor string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &streamReader{c: c, id: id, cursor: cursor, yield: yield}
		if err := c.resumed(ctx, f.once); err != nil {
			yield(Event{}, err)
		}
	}
}

// resumed reads a stream with once, and reads it again after each error that may pass. It returns
// nil when once does, or when the reader has left.
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

// errLeft reports that the reader has left its loop.
var errLeft = errors.New("the reader has left")

// streamReader is the state of one reader.
type streamReader struct {
	c      *Client
	id     uuid.UUID
	cursor string
	yield  func(Event, error) bool
}

// once reads one stream until its end. A nil error means that the log has ended. got reports
// whether an event or the end of the log was received.
func (f *streamReader) once(ctx context.Context) (got bool, err error) {
	header := http.Header{}
	if f.cursor != "" {
		header.Set("Last-Event-ID", f.cursor)
	}
	return f.c.events(ctx, request{
		method: http.MethodGet, path: []string{executions, f.id.String(), "stream", "consolidated"}, header: header,
	}, f.take)
}

// events reads a stream of events. take gets each event; it returns io.EOF at the end of the stream.
// got reports whether an event or the end was received.
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
	defer func() { _ = resp.Body.Close() }() // all complete events have been read, so an error does not matter
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
		// The timer stops while the caller handles the event, because nothing is read then.
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

// take updates the cursor and passes the event to the reader. It returns io.EOF at the end of the
// log.
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

// broken returns the error of a stream that ended before the end of the log.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &perdure.Error{Code: perdure.Unavailable, Message: "the stream broke off", Err: err}
}

// passing reports whether another attempt may succeed after err.
func passing(err error) bool {
	switch perdure.CodeOf(err) {
	case perdure.Unavailable, perdure.RateLimited, perdure.Internal:
		return true
	}
	return false
}

// pause waits before the next attempt. tries is the number of attempts since the last event, from
// 0.
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
