package grpcapi_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"github.com/perdure/perdure/internal/fair"
)

// TestCallsComputeInTheirOrgsShare checks that calls wait for their org's share of the processor,
// and that polls and heartbeats do not.
func TestCallsComputeInTheirOrgsShare(t *testing.T) {
	w := start(t)
	w.share.Longest = time.Hour
	client := w.dial(t, "worker")
	other := w.share.Visit("other")
	enter(t, other)
	other.Leave()
	mine := w.share.Visit("acme")
	enter(t, mine)
	done := make(chan error, 1)
	go func() { done <- client.Release(t.Context(), perdure.Release{WorkerID: uuid.New()}) }()
	for w.share.Waiting() != 1 {
		runtime.Gosched()
	}
	if _, err := client.Heartbeat(t.Context(), perdure.Heartbeat{WorkerID: uuid.New()}); err != nil {
		t.Error(err)
	}
	if _, err := client.PollTasks(t.Context(), perdure.Poll{WorkerID: uuid.New(), Queues: []string{"q"}, Kinds: []string{"k"}, Slots: 1}); err != nil {
		t.Error(err)
	}
	select {
	case <-done:
		t.Error("a call was answered without a place")
	default:
	}
	mine.Leave()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRequestWaitingForContentFreesItsPlace checks that a request has no place in its org's share
// of the processor while it waits for a content from a worker.
func TestRequestWaitingForContentFreesItsPlace(t *testing.T) {
	share := fair.New(2, 100)
	share.Longest = time.Hour
	other, first, second := share.Visit("other"), share.Visit("acme"), share.Visit("acme")
	enter(t, other)
	other.Leave()
	enter(t, first)
	k := &generatedContents{opened: map[perdure.Hash]*contentTape{}, sizes: map[perdure.Hash]int{{1}: 10}, gate: make(chan struct{})}
	served(t, k, func(source perdure.ContentSource) {
		read := make(chan error, 1)
		go func() {
			r, err := source.Content(fair.With(t.Context(), first), uuid.New(), perdure.Hash{1})
			if err == nil {
				_, err = io.Copy(io.Discard, r)
				err = errors.Join(err, r.Close())
			}
			first.Leave()
			read <- err
		}()
		within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := second.Enter(within); err != nil {
			t.Error("another request waits for one that waits for a worker:", err)
		}
		second.Leave()
		close(k.gate)
		if err := <-read; err != nil {
			t.Error(err)
		}
	})
}

func enter(t *testing.T, v *fair.Visit) {
	t.Helper()
	if err := v.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestTooManyWaitingCallsAreRefused checks that a call gets rate_limited if the maximum number of
// calls of its org already waits for a place. A heartbeat is still answered.
func TestTooManyWaitingCallsAreRefused(t *testing.T) {
	w := start(t)
	w.share.Longest, w.share.Queue = time.Hour, 0
	ctx, conn := w.raw(t, "worker")
	client := perdurev1.NewWorkerDispatchClient(conn)
	other, mine := w.share.Visit("other"), w.share.Visit("acme")
	enter(t, other)
	other.Leave()
	enter(t, mine)
	defer mine.Leave()
	if _, err := client.Heartbeat(ctx, &perdurev1.HeartbeatRequest{}); err != nil {
		t.Error(err)
	}
	_, err := client.Release(ctx, &perdurev1.ReleaseRequest{})
	if err = pbconv.FromStatus(err); !perdure.IsCode(err, perdure.RateLimited) {
		t.Errorf("a call too many ends with %v", err)
	}
}
