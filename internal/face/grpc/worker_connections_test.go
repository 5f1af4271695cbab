package grpcapi_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/worker/remote"
)

func beat(t *testing.T, c *remote.Client, worker uuid.UUID) {
	t.Helper()
	if _, err := c.Heartbeat(t.Context(), perdure.Heartbeat{WorkerID: worker}); err != nil {
		t.Fatal(err)
	}
}

func hang(t *testing.T, c *remote.Client) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func dialOnce(t *testing.T, w *world) *remote.Client {
	t.Helper()
	c, err := remote.Dial(t.Context(), remote.Options{Addr: w.addr, Token: "worker", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLostConnectionsAreReported checks that the server reports a worker as gone (Options.Gone)
// when the worker's last connection has ended, and not while the worker has another connection.
func TestLostConnectionsAreReported(t *testing.T) {
	w := start(t)
	first, second, one, two := dialOnce(t, w), dialOnce(t, w), uuid.New(), uuid.New()
	beat(t, first, one)
	beat(t, second, one)
	beat(t, second, two)
	hang(t, first)
	third := dialOnce(t, w) // the order does not matter: the worker has another connection
	beat(t, third, one)
	hang(t, second)
	if got := <-w.gone; got != [2]string{"acme", two.String()} {
		t.Errorf("told of %v, want worker %s", got, two)
	}
	hang(t, third)
	if got := <-w.gone; got != [2]string{"acme", one.String()} {
		t.Errorf("told of %v, want worker %s", got, one)
	}
}

// TestAStoppingServerReportsNoLostWorker checks that the server reports no worker as gone when it
// closes its connections during Shutdown.
func TestAStoppingServerReportsNoLostWorker(t *testing.T) {
	w := start(t)
	beat(t, w.dial(t, "worker"), uuid.New())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if len(w.gone) > 0 {
		t.Errorf("told of %v", <-w.gone)
	}
}
