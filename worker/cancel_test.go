package worker

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestCancelReachesARunningAgent checks that an agent learns of the cancel of its execution at its
// next commit or wait, before any heartbeat. The commit or wait returns ErrCancelled, which is then
// also the context's cause.
func TestCancelReachesARunningAgent(t *testing.T) {
	for name, body := range map[string]func(agent.Context) error{
		"by its next commit": func(ctx agent.Context) error { return ctx.Flush() },
		"by its next wait":   func(ctx agent.Context) error { return ctx.Sleep(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, time.Hour) // no heartbeat is sent during the test
			begun, cancelled := make(chan struct{}), make(chan struct{})
			ended := make(chan perdure.Status, 1)
			b.agent("a", func(ctx agent.Context) (string, error) {
				ctx.OnEnd(func(s perdure.Status) { ended <- s })
				close(begun)
				<-cancelled
				err := body(ctx)
				if !errors.Is(err, agent.ErrCancelled) || !errors.Is(context.Cause(ctx), agent.ErrCancelled) {
					return "", fmt.Errorf("the call gave %w, the cause is %w", err, context.Cause(ctx))
				}
				return "", err
			})
			b.work(unwatched(b))
			id := b.start("a")
			wait(t, "the agent to begin", begun)
			if _, _, err := b.e.Cancel(t.Context(), org, id); err != nil {
				t.Fatal(err)
			}
			close(cancelled)
			b.ended(id, perdure.StatusCancelled)
			if s := wait(t, "the end", ended); s != perdure.StatusCancelled {
				t.Errorf("OnEnd saw %s", s)
			}
		})
	}
}

// unwatched returns a change of a worker's configuration. With it, the worker learns of cancels
// only from regular heartbeats and from its own calls, as if the server did not know WatchLeases.
func unwatched(b *bench) func(*Config) {
	return func(c *Config) { c.Dispatch = &interrupted{Dispatch: b.e.Dispatch(org, false)} }
}

// TestHeartbeatCarriesCancelToAgentsAndTasks checks that agents and tasks learn of a cancel from
// regular heartbeats.
func TestHeartbeatCarriesCancelToAgentsAndTasks(t *testing.T) {
	b := newBench(t, 600*time.Millisecond)
	causes := make(chan error, 2)
	b.task("long", func(ctx agent.TaskContext, _ int) (int, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return 0, ctx.Err()
	})
	running := make(chan struct{})
	b.agent("a", func(ctx agent.Context) (string, error) {
		ctx.Schedule("long", 1)
		if err := ctx.Flush(); err != nil {
			return "", err
		}
		close(running)
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return "", context.Cause(ctx)
	})
	b.work(unwatched(b))
	id := b.start("a")
	wait(t, "the agent to run", running)
	if _, _, err := b.e.Cancel(t.Context(), org, id); err != nil {
		t.Fatal(err)
	}
	b.ended(id, perdure.StatusCancelled)
	for range 2 {
		if cause := wait(t, "a cause", causes); !errors.Is(cause, agent.ErrCancelled) && !errors.Is(cause, agent.ErrLeaseLost) {
			t.Errorf("the cause is %v", cause)
		}
	}
}

// TestParkedGoroutineOfACancelledExecution checks that the worker discards the parked goroutine of
// a cancelled execution. The cause of the goroutine's context is ErrDiscarded.
func TestParkedGoroutineOfACancelledExecution(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, 3*time.Second)
	discarded := make(chan error, 1)
	b.agent("a", func(ctx agent.Context) (string, error) {
		defer func() { discarded <- context.Cause(ctx) }()
		_, err := ctx.WaitSignal("never", 0)
		return "", err
	})
	w := b.work()
	id := b.start("a")
	b.waiting(id, "signal")
	w.parkedNow(t, id)
	if _, _, err := b.e.Cancel(t.Context(), org, id); err != nil {
		t.Fatal(err)
	}
	if cause := wait(t, "the discard", discarded); !errors.Is(cause, agent.ErrDiscarded) {
		t.Errorf("the cause is %v", cause)
	}
}
