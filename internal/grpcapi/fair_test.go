package grpcapi_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Calls compute in their org's share of the processor; polls wait and heartbeats must
// not come late, so they need no place.
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
