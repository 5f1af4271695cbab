package worker

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestDrainGivesEverythingBack checks that a worker that stops releases its running work, so that
// another worker can complete that work without a failure. The parked goroutine ends, and all slots
// are free.
func TestDrainGivesEverythingBack(t *testing.T) {
	b := newBench(t, time.Hour) // no lease expires during the test
	var calm atomic.Bool
	running, parkedEnds := make(chan struct{}, 2), atomic.Int32{}
	b.agent("parks", func(ctx agent.Context) (string, error) {
		defer parkedEnds.Add(1)
		_, err := ctx.WaitSignal("go", 0)
		return "fine", err
	})
	b.agent("runs", func(ctx agent.Context) (string, error) {
		if !calm.Load() {
			running <- struct{}{}
			<-ctx.Done()
			return "", errors.New("what it returns now counts for nothing")
		}
		return "fine", nil
	})
	var attempts atomic.Int32
	b.task("long", func(ctx agent.TaskContext, _ int) (int, error) {
		attempts.Add(1)
		if !calm.Load() {
			running <- struct{}{}
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return 1, nil
	})
	b.agent("calls", func(ctx agent.Context) (string, error) {
		_, err := agent.Call[int](ctx, "long", 1, agent.Attempts(1))
		return "fine", err
	})
	w := b.work(func(c *Config) { c.Drain = 10 * time.Millisecond })
	ids := map[string]uuid.UUID{"parks": b.start("parks"), "runs": b.start("runs"), "calls": b.start("calls")}
	w.parkedNow(t, ids["parks"])
	w.parkedNow(t, ids["calls"])
	wait(t, "code to run", running)
	wait(t, "code to run", running)
	w.stop()
	if parkedEnds.Load() != 1 {
		t.Error("the parked goroutine had not ended when the worker had")
	}
	if n := len(w.agentSlots) + len(w.taskSlots); n != 0 {
		t.Errorf("%d slots are still taken", n)
	}
	for kind, want := range map[string]perdure.Status{
		"parks": perdure.StatusWaiting, "runs": perdure.StatusPending, "calls": perdure.StatusWaiting,
	} {
		if x := b.execution(ids[kind]); x.Status != want {
			t.Errorf("%s is %s, want %s", kind, x.Status, want)
		}
	}
	calm.Store(true)
	b.work()
	b.signal(ids["parks"], "go", "1")
	for _, id := range ids {
		b.output(id, "fine")
	}
	if attempts.Load() != 2 {
		t.Errorf("%d attempts, want 2", attempts.Load())
	}
}

// TestDrainWaitsForDeferredFunctions checks that Run returns only after the deferred functions of a
// parked goroutine have run.
func TestDrainWaitsForDeferredFunctions(t *testing.T) {
	b := newBench(t, time.Hour)
	var over atomic.Bool
	b.agent("a", func(ctx agent.Context) (string, error) {
		defer func() {
			for range 100_000 {
				runtime.Gosched() // the deferred function is slow
			}
			over.Store(true)
		}()
		_, err := ctx.WaitSignal("go", 0)
		return "fine", err
	})
	w := b.work()
	id := b.start("a")
	w.parkedNow(t, id)
	w.stop()
	if !over.Load() {
		t.Error("it had not ended when the worker had")
	}
}

// TestDrainLetsWorkEnd checks that a task completes during the drain if it ends within
// Config.Drain.
func TestDrainLetsWorkEnd(t *testing.T) {
	b := newBench(t, time.Hour)
	running, goOn := make(chan struct{}), make(chan struct{})
	b.task("work", func(ctx agent.TaskContext, n int) (int, error) {
		close(running)
		select {
		case <-goOn:
			return n, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	b.agent("a", func(ctx agent.Context) (string, error) {
		_, err := agent.Call[int](ctx, "work", 1)
		return "fine", err
	})
	w := b.work(func(c *Config) { c.Drain = patience })
	id := b.start("a")
	wait(t, "the task to run", running)
	stopped := make(chan struct{})
	go func() { w.stop(); close(stopped) }()
	eventually(t, "the drain to begin", w.isDraining)
	close(goOn)
	wait(t, "the worker to stop", stopped)
	if n := b.count(id, perdure.EventTaskCompleted); n != 1 {
		t.Errorf("%d tasks completed, want 1", n)
	}
	b.work()
	b.output(id, "fine")
}

// TestDrainWithoutAServer checks that a worker stops and frees its slots although the server is
// unavailable and the worker's code waits for replies.
func TestDrainWithoutAServer(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, time.Hour)
	var away atomic.Bool
	begun := make(chan struct{}, 2)
	b.task("work", func(ctx agent.TaskContext, n int) (int, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return n, nil
	})
	b.agent("a", func(ctx agent.Context) (string, error) {
		ctx.Schedule("work", 1)
		if err := ctx.Flush(); err != nil {
			return "", err
		}
		away.Store(true)
		begun <- struct{}{}
		return "never stored", ctx.Flush()
	})
	w := b.work(b.overFaulty(&faulty{plan: func(string, int) fault {
		if away.Load() {
			return before
		}
		return fine
	}}))
	b.start("a")
	wait(t, "the server to be away", begun)
	wait(t, "the server to be away", begun)
	w.stop()
	if n := len(w.agentSlots) + len(w.taskSlots); n != 0 {
		t.Errorf("%d slots are still taken", n)
	}
}

// TestClaimThatComesTooLate checks an execution whose claim arrives during the drain. The worker
// releases the claim and does not enter the execution's function.
func TestClaimThatComesTooLate(t *testing.T) {
	b := newBench(t, time.Hour)
	var entered atomic.Int32
	b.agent("a", func(agent.Context) (string, error) { entered.Add(1); return "fine", nil })
	b.task("work", func(agent.TaskContext, int) (int, error) { entered.Add(1); return 1, nil })
	b.known("a")
	ctx, stop := context.WithCancel(t.Context())
	f := &faulty{}
	draining := make(chan *Worker, 1)
	f.onAgents = func([]perdure.AgentClaim) {
		stop()
		eventually(t, "the drain to begin", (<-draining).isDraining)
	}
	c := Config{}
	b.overFaulty(f)(&c)
	w := New(c)
	for _, d := range b.agents {
		w.RegisterAgent(d)
	}
	draining <- w
	id := b.start("a")
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if x := b.execution(id); x.Status != perdure.StatusPending || entered.Load() != 0 {
		t.Errorf("it is %s, entered %d times", x.Status, entered.Load())
	}
}
