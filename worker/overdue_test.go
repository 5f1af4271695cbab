package worker

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// meeting is a dispatch in which each call of Release waits until a second call is made or the
// context of the call ends.
type meeting struct {
	perdure.Dispatch
	mu   sync.Mutex // guards the fields below
	met  chan struct{}
	here int
	back []perdure.AgentRelease
	err  error
}

func (m *meeting) Release(ctx context.Context, r perdure.Release) error {
	m.mu.Lock()
	m.back = append(m.back, r.Agents...)
	if m.here++; m.here == 2 {
		close(m.met)
	}
	m.mu.Unlock()
	select {
	case <-m.met:
	case <-ctx.Done():
	}
	return m.err
}

// TestOverdueIsGivenBackOnceByTwoBeats checks two heartbeats that are sent at the same time, as may
// happen after a sleep of the machine. Together they release each execution in the worker's list
// `overdue` once.
func TestOverdueIsGivenBackOnceByTwoBeats(t *testing.T) {
	for _, err := range []error{nil, unavailable()} {
		m := &meeting{met: make(chan struct{}), err: err}
		w := New(Config{Dispatch: m})
		w.overdue = []perdure.AgentRelease{{Lease: perdure.Lease{ExecutionID: uuid.New()}}, {Lease: perdure.Lease{ExecutionID: uuid.New()}}}
		var beats sync.WaitGroup
		for range 2 {
			beats.Go(func() { w.giveOverdueBack(t.Context(), 100*time.Millisecond) })
		}
		beats.Wait()
		if len(m.back) != 2 {
			t.Errorf("%d leases were given back, want 2", len(m.back))
		}
		if left, want := len(w.overdue), map[bool]int{true: 0, false: 2}[err == nil]; left != want {
			t.Errorf("%d leases are left after %v, want %d", left, err, want)
		}
	}
}
