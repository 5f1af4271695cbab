package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/perdure/perdure/internal/face/front"
)

// stream sends the events of the response, beginning after the sequence number `after`. If it must
// stop before the response ends, it resets the connection, because clients take a clean end of the
// stream for success.
func (a *API) stream(w http.ResponseWriter, r *http.Request, f *fold, after int64) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stopped := a.cancelOnStop(ctx, cancel)
	defer func() { cancel(nil); <-stopped }()
	s := &sse{w: w, c: http.NewResponseController(w), timeout: a.WriteTimeout}
	if err := a.copyEvents(ctx, s, r, f, after); err != nil {
		if !s.begun {
			a.fail(w, r, err)
			return
		}
		a.Logger.DebugContext(ctx, "stream reset", slog.String("response", f.id()), slog.Any("cause", err))
		panic(http.ErrAbortHandler)
	}
}

// read counts a request that streams a response or waits for its end. The caller must call the
// function `leave` when the request ends.
func (a *API) read(r *http.Request) (leave func(), err error) {
	if a.Read == nil {
		return func() {}, nil
	}
	leave, refused := a.Read(r)
	if refused != nil {
		return nil, refused
	}
	return leave, nil
}

func (a *API) cancelOnStop(ctx context.Context, cancel context.CancelCauseFunc) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-a.Stop:
			cancel(ErrStopping)
		case <-ctx.Done():
		}
	}()
	return done
}

func (a *API) copyEvents(ctx context.Context, s *sse, r *http.Request, f *fold, after int64) error {
	still := func() error { return nil }
	if a.Recheck != nil {
		still = a.Recheck(r)
	}
	for step, err := range a.follow(ctx, f) {
		if err == nil {
			err = still()
		}
		if err != nil {
			return err
		}
		for _, e := range step.events {
			if e.Number > after {
				s.event(e)
			}
		}
		if s.buf.Len() == 0 && s.begun && time.Since(s.wrote) > a.PingEvery-time.Second {
			s.buf.WriteString(": ping\n\n")
		}
		if !step.more || s.buf.Len() > flushAt {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	s.buf.WriteString("data: [DONE]\n\n")
	return s.flush()
}

// flushAt is the number of buffered bytes above which a stream is flushed even if more events
// follow immediately.
const flushAt = 16 << 10

// sse writes server-sent events to a client. A write fails if the client does not receive a piece
// within the write timeout.
type sse struct {
	w       http.ResponseWriter
	c       *http.ResponseController
	timeout time.Duration
	buf     bytes.Buffer
	wrote   time.Time
	begun   bool
}

func (s *sse) event(e Event) { fmt.Fprintf(&s.buf, "event: %s\ndata: %s\n\n", e.Type, e.Body) }

// flush sends the buffered events. The first flush also sends the headers, even if the buffer is
// empty.
func (s *sse) flush() error {
	if !s.begun {
		s.begun = true
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no")
		s.w.WriteHeader(http.StatusOK)
	} else if s.buf.Len() == 0 {
		return nil
	}
	s.wrote = time.Now()
	for {
		if err := s.c.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if s.buf.Len() == 0 {
			return s.c.Flush()
		}
		if _, err := s.w.Write(s.buf.Next(front.PieceBytes)); err != nil {
			return err
		}
	}
}
