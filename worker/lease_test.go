package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestLeaseEndsByTheWorkersOwnClock checks that the contexts of an agent and a task end with
// ErrLeaseLost, at most a third of a lease after their lease has expired. In the test, the worker
// cannot reach the server, or the server cannot renew leases, so only the worker's clock can end
// the contexts.
func TestLeaseEndsByTheWorkersOwnClock(t *testing.T) {
	longtest.Skip(t, "seconds")
	t.Run("no heartbeat arrives", func(t *testing.T) {
		leaseEnds(t, &faulty{plan: func(method string, _ int) fault {
			if method == "Heartbeat" {
				return before
			}
			return fine
		}})
	})
	t.Run("none is answered as renewed", func(t *testing.T) {
		leaseEnds(t, &faulty{onHeartbeat: func(_ perdure.Heartbeat, r *perdure.HeartbeatReply) error {
			for i := range r.Agents {
				r.Agents[i] = perdure.AgentHeartbeatReply{Unknown: true}
			}
			for i := range r.Tasks {
				r.Tasks[i] = perdure.TaskHeartbeatReply{Unknown: true}
			}
			return nil
		}})
	})
}

func leaseEnds(t *testing.T, f *faulty) {
	const lease = 500 * time.Millisecond
	b := newBench(t, lease)
	causes := make(chan error, 2)
	b.task("long", func(ctx agent.TaskContext, _ int) (int, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return 0, ctx.Err()
	})
	var tries atomic.Int32
	begun := make(chan time.Time, 1)
	b.agent("a", func(ctx agent.Context) (string, error) {
		if tries.Add(1) > 1 {
			return "fine", nil
		}
		ctx.Schedule("long", 1, agent.OnLost(perdure.OnLostReport))
		if err := ctx.Flush(); err != nil {
			return "", err
		}
		begun <- time.Now()
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return "", errors.New("what it returns now counts for nothing")
	})
	b.work(b.overFaulty(f))
	id := b.start("a")
	since := wait(t, "the agent to begin", begun)
	for range 2 {
		if cause := wait(t, "a cause", causes); !errors.Is(cause, agent.ErrLeaseLost) {
			t.Errorf("the cause is %v", cause)
		}
	}
	if late := time.Since(since); late > lease+lease/3 {
		t.Errorf("the contexts ended %s after the claim, the lease is %s", late, lease)
	}
	b.output(id, "fine")
}

// TestLostLeaseEndsTheGoroutine checks a run whose lease is lost, as the server reports. Its
// context ends with ErrLeaseLost, its next blocking call does not return, and the function is
// entered again.
func TestLostLeaseEndsTheGoroutine(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, 3*time.Second)
	cause := make(chan error, 1)
	var tries, back atomic.Int32
	b.agent("a", func(ctx agent.Context) (string, error) {
		if tries.Add(1) > 1 {
			return "fine", nil
		}
		<-ctx.Done()
		cause <- context.Cause(ctx)
		_ = ctx.Flush()
		back.Add(1)
		return "", nil
	})
	f := &faulty{}
	var once sync.Once
	f.onHeartbeat = func(h perdure.Heartbeat, r *perdure.HeartbeatReply) error {
		if len(h.Agents) > 0 {
			once.Do(func() { r.Agents[0] = perdure.AgentHeartbeatReply{Lost: true} })
		}
		return nil
	}
	b.work(b.overFaulty(f))
	id := b.start("a")
	if got := wait(t, "the cause", cause); !errors.Is(got, agent.ErrLeaseLost) {
		t.Errorf("the cause is %v", got)
	}
	b.output(id, "fine")
	if back.Load() != 0 {
		t.Error("the blocking call came back")
	}
}

// TestCommitIsRepeatedUntilItIsAnswered checks that a commit is repeated while calls or replies are
// lost. Each commit gets one reply, and each entry is stored once.
func TestCommitIsRepeatedUntilItIsAnswered(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, time.Minute)
	b.agent("a", func(ctx agent.Context) (string, error) {
		for i := range 3 {
			if _, err := ctx.Append(user(fmt.Sprint(i))); err != nil {
				return "", err
			}
			if err := ctx.Flush(); err != nil {
				return "", err
			}
		}
		return "fine", nil
	})
	var mu sync.Mutex
	var numbers []int64
	f := &faulty{}
	f.plan = func(method string, n int) fault {
		if method == "Commit" {
			return []fault{fine, before, after, before}[n%4]
		}
		return fine
	}
	f.onCommit = func(c perdure.Commit, _ *perdure.CommitReply) error {
		mu.Lock()
		defer mu.Unlock()
		numbers = append(numbers, c.Number)
		return nil
	}
	w := b.work(b.overFaulty(f))
	id := b.start("a")
	b.output(id, "fine")
	w.stop() // after that, the last reply has arrived
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(numbers) != "[1 2 3 4]" {
		t.Errorf("the commits answered are %v", numbers)
	}
	if texts := b.texts(id); fmt.Sprint(texts) != "[0 1 2]" {
		t.Errorf("the texts are %q", texts)
	}
}

// TestRateLimitIsWaitedOut checks that a commit that is refused with rate_limited is repeated, and
// the function is not entered again.
func TestRateLimitIsWaitedOut(t *testing.T) {
	b := newBench(t, time.Minute)
	var entered atomic.Int32
	b.agent("a", func(ctx agent.Context) (string, error) { entered.Add(1); return "fine", ctx.Flush() })
	b.work(b.overFaulty(&faulty{plan: func(method string, n int) fault {
		if method == "Commit" && n <= 2 {
			return limited
		}
		return fine
	}}))
	b.output(b.start("a"), "fine")
	if n := entered.Load(); n != 1 {
		t.Errorf("the function was entered %d times", n)
	}
}

// TestStepWaitsForAFreshLease checks a step that the function requests in the last fifth of the
// lease. The step begins only after the lease is renewed.
func TestStepWaitsForAFreshLease(t *testing.T) {
	longtest.Skip(t, "seconds")
	const lease = 10 * time.Second
	b := newBench(t, lease)
	b.agent("a", func(ctx agent.Context) (string, error) {
		r := ctx.(*run)
		r.mu.Lock()
		r.renew = leaseClock{bootTime, bootTime() - lease*9/10, lease}
		r.mu.Unlock()
		renewed := make(chan struct{})
		go func() {
			defer close(renewed)
			r.w.beatOnce(ctx, time.Second)
		}()
		return agent.Step(ctx, "step", func(context.Context) (string, error) {
			select {
			case <-renewed:
				return "fine", nil
			default:
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.renew.late() {
				return "begun too late", nil
			}
			return "fine", nil
		})
	})
	b.work()
	b.output(b.start("a"), "fine")
}

func TestLeaseClock(t *testing.T) {
	for _, test := range []struct {
		gone       time.Duration
		late, over bool
	}{{0, false, false}, {70 * time.Second, false, false}, {85 * time.Second, true, false}, {101 * time.Second, true, true}} {
		c := leaseClock{bootTime, bootTime() - test.gone, 100 * time.Second}
		if c.late() != test.late || c.over() != test.over {
			t.Errorf("after %s of 100s: late %v, over %v", test.gone, c.late(), c.over())
		}
	}
}

// TestLeaseAfterASleep checks a machine that sleeps for longer than a lease. If the next heartbeat
// renews the lease, the run continues; if the server does not answer, the run's context ends with
// ErrLeaseLost.
func TestLeaseAfterASleep(t *testing.T) {
	for _, away := range []bool{false, true} {
		b := newBench(t, time.Hour)
		cause := make(chan error, 1)
		b.agent("a", func(ctx agent.Context) (string, error) {
			r := ctx.(*run)
			r.mu.Lock()
			r.renew = leaseClock{bootTime, bootTime() - 2*time.Hour, time.Hour}
			r.mu.Unlock()
			r.w.checkLeases(context.Background(), bootTime()-2*time.Hour)
			cause <- context.Cause(ctx)
			return "fine", nil
		})
		b.work(b.overFaulty(&faulty{plan: func(method string, _ int) fault {
			if away && method == "Heartbeat" {
				return before
			}
			return fine
		}}))
		b.start("a")
		if got := wait(t, "the cause", cause); errors.Is(got, agent.ErrLeaseLost) != away {
			t.Errorf("the server is away: %v, the cause is %v", away, got)
		}
	}
}
