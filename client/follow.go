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

// Follow reads the whole log of an execution after the cursor ("" is the
// start), then what comes, until the execution has ended. A stream that breaks
// is taken up again exactly behind the last event that was given, after a pause
// of 1 s that doubles to 30 s, with jitter; an answer that says to wait longer
// is heeded. After an event of type reset the caller drops what it holds; a
// log whose beginning is no longer kept begins with one.
//
// It ends with an error if ctx is over (its cause) or the server refuses:
// unauthenticated, permission_denied, not_found, invalid_argument (the cursor).
func (c *Client) Follow(ctx context.Context, id uuid.UUID, cursor string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := &follow{c: c, id: id, cursor: cursor, yield: yield}
		for tries := 0; ; tries++ {
			got, err := f.once(ctx)
			switch {
			case err == nil || errors.Is(err, errLeft):
				return
			case ctx.Err() != nil:
				yield(Event{}, context.Cause(ctx))
				return
			case !passing(err):
				yield(Event{}, err)
				return
			}
			if got {
				tries = 0
			}
			if err := c.pause(ctx, tries, err); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// errLeft says that the reader has broken out of its loop.
var errLeft = errors.New("the reader has left")

// follow is one reader.
type follow struct {
	c      *Client
	id     uuid.UUID
	cursor string
	yield  func(Event, error) bool
}

// once reads one stream to its end. nil says that the log has ended; got, that
// something was read.
func (f *follow) once(ctx context.Context) (got bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(f.c.idle, func() { cancel(errSilent) })
	defer silent.Stop()
	header := http.Header{"Accept": {"text/event-stream"}}
	if f.cursor != "" {
		header.Set("Last-Event-ID", f.cursor)
	}
	resp, err := f.c.send(ctx, request{
		method: http.MethodGet, path: []string{executions, f.id.String(), "stream", "consolidated"}, header: header,
	})
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // the events that were whole have been read
	if resp.StatusCode == http.StatusNoContent {
		return true, nil
	}
	in := newFrames(resp.Body, func() { silent.Reset(f.c.idle) })
	for {
		event, err := in.next()
		if err != nil {
			return got, broken(ctx, err)
		}
		got = true
		// The caller may take its time: nothing is heard then, because nobody
		// listens.
		silent.Stop()
		err = f.take(event)
		silent.Reset(f.c.idle)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return true, nil
			}
			return true, err
		}
	}
}

// take moves the position and hands the event on; io.EOF is the log's end.
func (f *follow) take(e Event) error {
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

// broken words the end of a stream that has not said that the log has ended.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &perdure.Error{Code: perdure.Unavailable, Message: "the stream broke off", Err: err}
}

// passing reports whether an error may be over with the next try.
func passing(err error) bool {
	switch perdure.CodeOf(err) {
	case perdure.Unavailable, perdure.RateLimited, perdure.Internal:
		return true
	}
	return false
}

// pause waits before the try after the one with this number, from 0.
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
