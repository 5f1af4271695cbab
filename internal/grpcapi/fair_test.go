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
	"github.com/perdure/perdure/internal/fair"
)

// TestCallsComputeInTheirOrgsShare checks that calls wait for their org's share of the processor,
// and that polls and heartbeats do not.
func TestCallsComputeInTheirOrgsShare(t *testing.T) {
	w := start(t)
	w.share.Longest = time.Hour
	client := w.dial(t, "worker")
	other := w.share.Visit("other")
	other.Enter(t.Context())
	other.Leave()
	mine := w.share.Visit("acme")
	mine.Enter(t.Context())
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

// TestAContentThatIsWaitedForTakesNoPlace checks that a request that waits for a content from a
// worker frees its place in its org's share of the processor for others.
func TestAContentThatIsWaitedForTakesNoPlace(t *testing.T) {
	share := fair.New(2)
	share.Longest = time.Hour
	other, first, second := share.Visit("other"), share.Visit("acme"), share.Visit("acme")
	other.Enter(t.Context())
	other.Leave()
	first.Enter(t.Context())
	k := &kept{opened: map[perdure.Hash]*tape{}, sizes: map[perdure.Hash]int{{1}: 10}, gate: make(chan struct{})}
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
		second.Enter(within)
		if within.Err() != nil {
			t.Error("another request waits for one that waits for a worker")
		}
		second.Leave()
		close(k.gate)
		if err := <-read; err != nil {
			t.Error(err)
		}
	})
}
