package worker

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// TestDrainLeavesBehindWhatDoesNotStop checks that a worker stops although code ignores its
// context. Run's error names the code, the worker releases its claims, and other workers complete
// the work. The task completes once.
func TestDrainLeavesBehindWhatDoesNotStop(t *testing.T) {
	b := newBench(t, time.Hour)
	stuck, begun := make(chan struct{}), make(chan struct{}, 3)
	var calm atomic.Bool
	hang := func() {
		if !calm.Load() {
			begun <- struct{}{}
			<-stuck
		}
	}
	b.task("deaf", func(_ agent.TaskContext, n int) (int, error) { hang(); return n, nil })
	b.agent("calls", func(ctx agent.Context) (string, error) {
		_, err := agent.Call[int](ctx, "deaf", 1)
		return "fine", err
	})
	b.agent("computes", func(agent.Context) (string, error) { hang(); return "fine", nil })
	b.agent("defers", func(ctx agent.Context) (string, error) {
		defer hang()
		_, err := ctx.WaitSignal("go", 0)
		return "fine", err
	})
	c := Config{Dispatch: b.e.Dispatch(org, false), Drain: -1, Grace: 50 * time.Millisecond}
	w := New(c)
	for _, d := range b.agents {
		w.RegisterAgent(d)
	}
	for _, d := range b.tasks {
		w.RegisterTask(d)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	wait(t, "the worker to register", w.Registered())
	ids := map[string]uuid.UUID{"calls": b.start("calls"), "computes": b.start("computes"), "defers": b.start("defers")}
	wait(t, "code to hang", begun)
	wait(t, "code to hang", begun)
	running{w, stop}.parkedNow(t, ids["defers"])
	running{w, stop}.parkedNow(t, ids["calls"])
	stop()
	err := wait(t, "the worker to stop", over)
	for _, name := range []string{"agent computes", "agent defers", "task deaf"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error is %v; it does not name %q", err, name)
		}
	}
	if x := b.execution(ids["computes"]); x.Status != perdure.StatusPending {
		t.Errorf("it is %s, want PENDING: given back", x.Status)
	}
	calm.Store(true)
	b.work()
	b.signal(ids["defers"], "go", "1")
	for _, id := range ids {
		b.output(id, "fine")
	}
	close(stuck) // ends the goroutines; in production, the process would end
	eventually(t, "the code to return", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.begun) == 0 && len(w.attempts) == 0
	})
	w.work.Wait()
	w.goroutines.Wait()
	if n := b.count(ids["calls"], perdure.EventTaskCompleted); n != 1 {
		t.Errorf("the task completed %d times", n)
	}
}

// TestOutageLongerThanTheLease checks an outage of the server that is longer than a lease. A tool
// whose attempt may run twice continues, and completes once. The context of a running agent ends
// with ErrLeaseLost, and the agent is entered again without a counted crash.
func TestOutageLongerThanTheLease(t *testing.T) {
	const lease = time.Hour
	b := newBench(t, lease)
	var away atomic.Bool
	var ahead atomic.Int64
	var runs, entered atomic.Int32
	begun, goOn := make(chan struct{}, 9), make(chan struct{})
	b.task("tool", func(ctx agent.TaskContext, n int) (int, error) {
		runs.Add(1)
		begun <- struct{}{}
		select {
		case <-goOn:
			return n, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	b.agent("waits", func(ctx agent.Context) (string, error) {
		_, err := agent.Call[int](ctx, "tool", 1)
		return "fine", err
	})
	computing := make(chan error, 1)
	b.agent("computes", func(ctx agent.Context) (string, error) {
		if entered.Add(1) == 1 {
			begun <- struct{}{}
			<-ctx.Done()
			computing <- context.Cause(ctx)
		}
		return "fine", nil
	})
	w := b.work(func(c *Config) {
		b.overFaulty(&faulty{plan: func(string, int) fault {
			if away.Load() {
				return before
			}
			return fine
		}})(c)
		c.PollWait = 10 * time.Millisecond
		c.Clock = func() time.Duration { return bootTime() + time.Duration(ahead.Load()) }
	})
	waits, computes := b.start("waits"), b.start("computes")
	wait(t, "the tool to run", begun)
	wait(t, "the agent to run", begun)
	w.parkedNow(t, waits)

	away.Store(true)
	b.halt()
	ahead.Store(int64(2 * lease))
	b.ahead.Store(int64(2 * lease))
	w.checkLeases(t.Context(), w.Clock()) // all leases have expired by the worker's clock
	if cause := wait(t, "the agent to end", computing); !errors.Is(cause, agent.ErrLeaseLost) {
		t.Errorf("the agent's cause is %v", cause)
	}
	b.serve() // the server waits one lease before it ends leases
	away.Store(false)
	w.beatOnce(t.Context(), patience)
	close(goOn)
	b.output(waits, "fine")
	b.output(computes, "fine")
	if runs.Load() != 1 || b.count(waits, perdure.EventTaskRetrying) != 0 {
		t.Errorf("the tool ran %d times", runs.Load())
	}
	if x := b.execution(computes); x.Crashes != 0 || entered.Load() != 2 {
		t.Errorf("the agent was entered %d times, %d crashes are counted", entered.Load(), x.Crashes)
	}
}

// TestZombieToolNeverWrites checks a worker that loses its connection while another worker takes
// over its task. Only the result of the other worker is stored, and the context of the first
// attempt ends with ErrLeaseLost.
func TestZombieToolNeverWrites(t *testing.T) {
	b := newBench(t, 300*time.Millisecond)
	var away atomic.Bool
	var runs atomic.Int32
	begun, goOn := make(chan struct{}, 1), make(chan struct{})
	zombie := make(chan error, 1)
	b.task("tool", func(ctx agent.TaskContext, _ int) (int, error) {
		if runs.Add(1) > 1 {
			return 2, nil
		}
		begun <- struct{}{}
		<-goOn
		return 1, nil
	})
	b.agent("a", func(ctx agent.Context) (string, error) {
		n, err := agent.Call[int](ctx, "tool", 1)
		return []string{"", "the zombie's", "fine"}[n], err
	})
	f := &faulty{plan: func(string, int) fault {
		if away.Load() {
			return before
		}
		return fine
	}}
	first := b.work(b.overFaulty(f), func(c *Config) { c.PollWait = 10 * time.Millisecond })
	id := b.start("a")
	wait(t, "the tool to run", begun)
	away.Store(true)
	b.work()
	b.output(id, "fine")
	first.mu.Lock()
	for _, a := range first.attempts {
		go func() { <-a.Done(); zombie <- context.Cause(a.Context) }()
	}
	first.mu.Unlock()
	away.Store(false)
	if cause := wait(t, "the zombie to hear of it", zombie); !errors.Is(cause, agent.ErrLeaseLost) {
		t.Errorf("the zombie's cause is %v", cause)
	}
	close(goOn)
	first.stop()
	if n := b.count(id, perdure.EventTaskCompleted); n != 1 || runs.Load() != 2 {
		t.Errorf("%d ends of %d runs", n, runs.Load())
	}
}
