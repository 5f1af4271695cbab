package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/notify"
)

// TestCancelsReachRunningCodeAtOnce checks that running code learns of each kind of cancel without
// waiting for a regular heartbeat. The lease is so long that no regular heartbeat is sent during
// the test.
func TestCancelsReachRunningCodeAtOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		// stop cancels the task for which the agent waits, or the agent itself.
		stop func(b *bench, id uuid.UUID)
		// deadline is the deadline of the task.
		deadline time.Duration
		agent    bool // the agent's code is also cancelled
	}{
		{name: "the agent cancels a task", stop: func(b *bench, id uuid.UUID) { b.signal(id, "cancel", "1") }},
		{name: "the task's time is over", deadline: time.Hour, stop: func(b *bench, _ uuid.UUID) { b.ahead.Store(int64(2 * time.Hour)) }},
		{name: "a waiting run is cancelled", stop: (*bench).cancel},
		{name: "a running run is cancelled", stop: (*bench).cancel, agent: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 10_000*time.Hour)
			running, taskEnd, agentEnd := make(chan struct{}), make(chan error, 1), make(chan error, 1)
			b.task("long", func(ctx agent.TaskContext, _ int) (int, error) {
				close(running)
				<-ctx.Done()
				taskEnd <- context.Cause(ctx)
				return 0, ctx.Err()
			})
			b.agent("a", func(ctx agent.Context) (string, error) {
				long := ctx.Schedule("long", 1, agent.Attempts(1), agent.Deadline(c.deadline))
				if c.agent {
					if err := ctx.Flush(); err != nil {
						return "", err
					}
					<-ctx.Done()
					agentEnd <- context.Cause(ctx)
					return "", context.Cause(ctx)
				}
				if _, err := ctx.WaitSignal("cancel", 0); err != nil {
					return "", err
				}
				ctx.CancelTask(long)
				return "", ctx.Flush()
			})
			b.work()
			id := b.start("a")
			wait(t, "the task to run", running)
			if !c.agent {
				b.waiting(id, "signal")
			}
			c.stop(b, id)
			stopped := func(what string, end <-chan error) {
				if cause := wait(t, what, end); !errors.Is(cause, agent.ErrCancelled) && !errors.Is(cause, agent.ErrLeaseLost) {
					t.Errorf("the cause of %s is %v", what, cause)
				}
			}
			stopped("the end of the task", taskEnd)
			if c.agent {
				stopped("the end of the agent", agentEnd)
				b.ended(id, perdure.StatusCancelled)
			}
		})
	}
}

func (b *bench) cancel(id uuid.UUID) {
	b.Helper()
	if _, _, err := b.e.Cancel(b.Context(), org, id); err != nil {
		b.Fatal(err)
	}
}

// TestNewsThatIsMissedComesWithTheNextWatch checks a worker that is not watching its leases
// (WatchLeases) when a run is cancelled. When the watch begins, the worker sends a heartbeat, so
// that it learns of the cancel.
func TestNewsThatIsMissedComesWithTheNextWatch(t *testing.T) {
	b := newBench(t, time.Hour)
	running, end := make(chan struct{}), make(chan error, 1)
	b.agent("a", func(ctx agent.Context) (string, error) {
		close(running)
		<-ctx.Done()
		end <- context.Cause(ctx)
		return "", context.Cause(ctx)
	})
	w := &interrupted{Dispatch: b.e.Dispatch(org, false), away: make(chan struct{})}
	b.work(func(c *Config) { c.Dispatch = w })
	id := b.start("a")
	wait(t, "the agent to run", running)
	b.cancel(id)
	close(w.away)
	if cause := wait(t, "the end of the agent", end); !errors.Is(cause, agent.ErrCancelled) {
		t.Errorf("the cause is %v", cause)
	}
	b.ended(id, perdure.StatusCancelled)
}

// interrupted is a dispatch that does not watch leases until the channel `away` is closed.
type interrupted struct {
	perdure.Dispatch
	away chan struct{}
}

func (i *interrupted) WatchLeases(ctx context.Context, worker uuid.UUID, changed func()) error {
	select {
	case <-i.away:
		return i.Dispatch.WatchLeases(ctx, worker, changed)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestManyCancelsAskForFewHeartbeats checks cancels that come during a heartbeat. However many
// come, only one more heartbeat follows.
func TestManyCancelsAskForFewHeartbeats(t *testing.T) {
	b := newBench(t, time.Hour)
	const tasks = 100
	running, ends := make(chan struct{}, tasks), make(chan struct{}, tasks)
	b.task("long", func(ctx agent.TaskContext, _ int) (int, error) {
		running <- struct{}{}
		<-ctx.Done()
		ends <- struct{}{}
		return 0, ctx.Err()
	})
	b.agent("a", func(ctx agent.Context) (string, error) {
		var all []agent.Future
		for i := range tasks {
			all = append(all, ctx.Schedule("long", i))
		}
		if _, err := ctx.WaitSignal("cancel", 0); err != nil {
			return "", err
		}
		for _, f := range all {
			ctx.CancelTask(f)
		}
		return "done", ctx.Flush()
	})
	f := &faulty{}
	b.work(b.overFaulty(f), func(c *Config) { c.Tasks = tasks })
	id := b.start("a")
	for range tasks {
		wait(t, "the tasks to run", running)
	}
	b.waiting(id, "signal")
	before := f.count("Heartbeat")
	b.signal(id, "cancel", "1")
	for range tasks {
		wait(t, "the tasks to end", ends)
	}
	if sent := f.count("Heartbeat") - before; sent > 3 {
		t.Errorf("%d heartbeats were sent for %d cancels in one commit", sent, tasks)
	}
}

// TestWorkersAreToldOnlyOfTheirOwnLeases checks that a cancel makes the server ask for a heartbeat
// only from the worker that has claimed the work.
func TestWorkersAreToldOnlyOfTheirOwnLeases(t *testing.T) {
	b := newBench(t, time.Hour)
	running := make(chan struct{})
	b.agent("a", func(ctx agent.Context) (string, error) {
		close(running)
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	w := b.work()
	id := b.start("a")
	wait(t, "the agent to run", running)
	own, endOwn := b.e.Hints.Subscribe(notify.Leases(org, w.ID))
	defer endOwn()
	others, endOthers := b.e.Hints.Subscribe(notify.Leases(org, uuid.New()), notify.Leases("other", w.ID))
	defer endOthers()
	b.cancel(id)
	wait(t, "the hint", own)
	b.ended(id, perdure.StatusCancelled)
	select {
	case <-others:
		t.Error("another worker was asked for a heartbeat")
	default:
	}
}
