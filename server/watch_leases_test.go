package server_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/remote"
)

// TestCancelReachesAConnectedWorkerAtOnce checks that a server tells a worker that is connected by
// gRPC of a cancel. The lease is so long that no regular heartbeat is sent during the test.
func TestCancelReachesAConnectedWorkerAtOnce(t *testing.T) {
	f := &fleet{t: t, done: map[string]int{}, http: &http.Client{Transport: &http.Transport{}}}
	f.open(server.Config{Lease: 1000 * time.Hour})
	s := f.servers[0]
	_, secret, err := s.CreateKey(t.Context(), server.DevOrg, "test", perdure.KeyAdmin)
	if err != nil {
		t.Fatal(err)
	}
	f.key = secret
	c, err := client.New(client.Options{BaseURL: "http://" + s.HTTPAddress(), Key: secret, HTTPClient: f.http})
	if err != nil {
		t.Fatal(err)
	}
	f.clients = append(f.clients, c)
	f.work(s.GRPCAddress())
	held, ended := make(chan struct{}), make(chan error, 1)
	f.holdBy(func(ctx agent.Context) { close(held); <-ctx.Done(); ended <- context.Cause(ctx) })
	id := f.start(0, story{Chapters: 1, Signals: true})
	f.waiting(0, id)
	if _, err := c.Signal(t.Context(), id, client.SignalRequest{Name: "go.on"}); err != nil {
		t.Fatal(err)
	}
	<-held
	if _, err := c.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if cause := <-ended; !errors.Is(cause, agent.ErrCancelled) {
		t.Errorf("the cause is %v", cause)
	}
}

// TestAWatchOfLeasesEndsWithItsServer checks that WatchLeases calls the function that it is given
// once when the watch begins. When the server stops, WatchLeases returns the error unavailable, so
// that the worker can watch at the next server.
func TestAWatchOfLeasesEndsWithItsServer(t *testing.T) {
	s, err := server.Open(t.Context(), server.Config{Data: t.TempDir(), HTTPAddr: "127.0.0.1:0", GRPCAddr: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	_, secret, err := s.CreateKey(t.Context(), server.DevOrg, "test", perdure.KeyWorker)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx) }()
	d, err := remote.Dial(t.Context(), remote.Options{Addr: s.GRPCAddress(), Token: secret, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	begun, watched := make(chan struct{}, 1), make(chan error, 1)
	go func() { watched <- d.WatchLeases(t.Context(), uuid.New(), func() { begun <- struct{}{} }) }()
	<-begun
	stop()
	if err := <-watched; !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("the watch ends with %v", err)
	}
	if err := errors.Join(<-over, d.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}
