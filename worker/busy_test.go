package worker

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestManyExecutionsRunAtOnce checks that one worker runs 20 executions at the same time: none of
// them ends before all have begun.
func TestManyExecutionsRunAtOnce(t *testing.T) {
	b := newBench(t, time.Minute)
	const many = 20
	var begun sync.WaitGroup
	begun.Add(many)
	b.agent("a", func(agent.Context) (string, error) {
		begun.Done()
		begun.Wait()
		return "fine", nil
	})
	b.work()
	var ids []uuid.UUID
	for range many {
		ids = append(ids, b.start("a"))
	}
	for _, id := range ids {
		b.output(id, "fine")
	}
}

// TestLongSilentToolIsNotTakenForDead checks a tool that runs for longer than a lease and never
// calls Heartbeat. Its task completes in the first attempt, because the worker sends heartbeats.
func TestLongSilentToolIsNotTakenForDead(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, 3*time.Second)
	enough := make(chan struct{})
	var attempts atomic.Int32
	b.task("silent", func(ctx agent.TaskContext, n int) (int, error) {
		attempts.Add(1)
		select {
		case <-enough:
			return n, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	b.agent("a", func(ctx agent.Context) (string, error) {
		_, err := agent.Call[int](ctx, "silent", 1)
		return "fine", err
	})
	// The worker sends a heartbeat every third of the lease. If no heartbeat renewed the lease, the
	// lease would have expired at the fourth heartbeat.
	var beats atomic.Int32
	b.work(b.overFaulty(&faulty{onHeartbeat: func(h perdure.Heartbeat, _ *perdure.HeartbeatReply) error {
		if len(h.Tasks) > 0 && beats.Add(1) == 4 {
			close(enough)
		}
		return nil
	}}))
	id := b.start("a")
	b.output(id, "fine")
	if n := attempts.Load(); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

// TestTailGivesTheNewest checks that Tail returns the newest n entries, oldest first, even if one
// of them is not committed yet. The agent calls Tail after a wait: in a parked goroutine, and in a
// function that is entered again.
func TestTailGivesTheNewest(t *testing.T) {
	for _, n := range []int{100, -1} {
		b := newBench(t, time.Minute)
		texts := make(chan []string, 10)
		b.agent("a", func(ctx agent.Context) (string, error) {
			for _, text := range []string{"one", "two", "three"} {
				if _, err := ctx.Append(user(text), agent.WithKey(text)); err != nil {
					return "", err
				}
			}
			if err := ctx.Flush(); err != nil {
				return "", err
			}
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			if _, err := ctx.Append(user("four"), agent.WithKey("four")); err != nil {
				return "", err
			}
			for _, n := range []int{1, 3, 9} {
				entries, err := ctx.Tail(n)
				if err != nil {
					return "", err
				}
				var said []string
				for _, e := range entries {
					m, err := e.Message()
					if err != nil {
						return "", err
					}
					said = append(said, m.PlainText())
				}
				texts <- said
			}
			return "fine", nil
		})
		b.work(func(c *Config) { c.Parked = n })
		id := b.start("a")
		b.waiting(id, "signal")
		b.signal(id, "go", "1")
		b.output(id, "fine")
		for _, want := range [][]string{{"four"}, {"two", "three", "four"}, {"one", "two", "three", "four"}} {
			if got := wait(t, "a tail", texts); !slices.Equal(got, want) {
				t.Errorf("parked %d: the tail is %q, want %q", n, got, want)
			}
		}
	}
}
