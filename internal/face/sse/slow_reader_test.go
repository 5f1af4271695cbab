package sse_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/longtest"
)

// TestSlowReaderIsResetAndDisturbsNobody checks that a client that does not read its stream is
// disconnected, while another reader of the log receives at least 60 events.
func TestSlowReaderIsResetAndDisturbsNobody(t *testing.T) {
	longtest.Skip(t, "seconds")
	reset := make(chan struct{})
	h := open(t, func(c *face.Config) {
		c.WriteTimeout = 5 * time.Second // enough for the fast reader on a busy machine
		c.Logger = slog.New(&logWaiter{Handler: c.Logger.Handler(), message: "stream reset", heard: reset})
	})
	x := h.Start("")
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	req := h.Request("GET", h.Path(x.ID, "/stream"), "")
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	run := h.Claim()
	fast := h.Follow(h.Path(x.ID, "/stream"))
	done := make(chan []sseEvent, 1)
	go func() {
		defer close(done) // also if the reader fails
		done <- fast.All()
	}()
	text := strings.Repeat("x", 200<<10)
	for i := range 60 { // more than the kernel's buffers hold
		run.Stream(0, int64(i*len(text)), "token", text)
	}
	run.Complete()
	if n := len(<-done); n < 60 {
		t.Errorf("the fast reader saw %d events", n)
	}
	<-reset // the connection was reset; it has not ended cleanly
}

// logWaiter is a slog.Handler. At the first record with the given message, it closes the channel
// `heard`.
type logWaiter struct {
	slog.Handler
	message string
	heard   chan struct{}
	once    sync.Once
}

func (e *logWaiter) Enabled(context.Context, slog.Level) bool { return true }

// WithAttrs implements slog.Handler. It returns the same handler, so logWaiter also sees the
// records of derived loggers.
func (e *logWaiter) WithAttrs([]slog.Attr) slog.Handler { return e }

func (e *logWaiter) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == e.message {
		e.once.Do(func() { close(e.heard) })
	}
	return nil
}
