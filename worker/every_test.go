package worker

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// everyWay runs a test on every kind of store, with parked goroutines and with functions that are
// entered again after each wait.
func everyWay(t *testing.T, lease time.Duration, test func(b *bench, way func(*Config))) {
	opentest.Each(t, func(t *testing.T, open opentest.Opener) {
		for name, kept := range map[string]int{"in place": 100, "entered again": -1} {
			t.Run(name, func(t *testing.T) {
				test(newBenchOn(t, open, lease), func(c *Config) { c.Parked = kept })
			})
		}
	})
}

func assistant(text string) perdure.Message {
	return perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text(text)}}}
}

// appendAll appends messages without keys. It stops at the first error.
func appendAll(ctx agent.Context, messages ...perdure.Message) error {
	for _, m := range messages {
		if _, err := ctx.Append(m); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the number of all entries of the execution, on the path and on other branches.
func (b *bench) entries(id uuid.UUID) int {
	b.Helper()
	page, err := b.s.AllEntries(context.WithoutCancel(b.Context()), id, "", 1000)
	if err != nil {
		b.Fatal(err)
	}
	return len(page.Items)
}

func (b *bench) wantTexts(id uuid.UUID, want ...string) {
	b.Helper()
	if got := b.texts(id); !slices.Equal(got, want) || b.entries(id) != len(want) {
		b.Errorf("the conversation is %q with %d entries, want %q", got, b.entries(id), want)
	}
}

// TestEntryCounterCollision checks that a text is stored twice if the agent appends it once before
// and once after a checkpoint. That also holds if the function takes another branch when it is
// entered again.
func TestEntryCounterCollision(t *testing.T) {
	everyWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			var greeted bool
			if _, err := ctx.State(&greeted); err != nil {
				return "", err
			}
			if !greeted {
				if err := appendAll(ctx, user("hello"), assistant("hi")); err != nil {
					return "", err
				}
				if err := ctx.Checkpoint(true); err != nil {
					return "", err
				}
			}
			if _, err := ctx.WaitSignal("m", 0); err != nil {
				return "", err
			}
			return "fine", appendAll(ctx, user("hello"), assistant("hi"))
		})
		b.work(way)
		id := b.start("a")
		b.waiting(id, "signal")
		b.signal(id, "m", `"hello"`)
		b.output(id, "fine")
		b.wantTexts(id, "hello", "hi", "hello", "hi")
	})
}

// TestEntryIdempotencyOnResume checks that a function that is entered again stores no entry twice.
// The function looks for one entry in Messages before it appends that entry, and appends the other
// entries with keys.
func TestEntryIdempotencyOnResume(t *testing.T) {
	everyWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			known := false
			for _, err := range ctx.Messages() {
				if err != nil {
					return "", err
				}
				known = true
			}
			if !known {
				if err := appendAll(ctx, user("guarded")); err != nil {
					return "", err
				}
			}
			for i := range 3 {
				if _, err := ctx.Append(user(fmt.Sprint("keyed ", i)), agent.WithKey(fmt.Sprint(i))); err != nil {
					return "", err
				}
				if _, err := ctx.WaitSignal("m", 0); err != nil {
					return "", err
				}
			}
			return "fine", nil
		})
		b.work(way)
		id := b.start("a")
		for i := range 3 {
			b.until(id, "its next wait", func(x *perdure.Execution) bool {
				return x.Status == perdure.StatusWaiting && x.EntryCount == int64(i)+2
			})
			b.signal(id, "m", `1`)
		}
		b.output(id, "fine")
		b.wantTexts(id, "guarded", "keyed 0", "keyed 1", "keyed 2")
	})
}

// TestTaskIdempotencyOnResume checks that a task that the agent requests twice, before and after a
// wait, is one task that runs once and has one result.
func TestTaskIdempotencyOnResume(t *testing.T) {
	everyWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		var ran atomic.Int32
		b.task("double", func(_ agent.TaskContext, n int) (int, error) { ran.Add(1); return 2 * n, nil })
		b.agent("a", func(ctx agent.Context) (string, error) {
			first, err := agent.Call[int](ctx, "double", 21)
			if err != nil {
				return "", err
			}
			if _, err := ctx.WaitSignal("m", 0); err != nil {
				return "", err
			}
			second, err := agent.Call[int](ctx, "double", 21)
			return fmt.Sprint(first, second), err
		})
		b.work(way)
		id := b.start("a")
		b.waiting(id, "signal")
		b.signal(id, "m", `1`)
		b.output(id, "42 42")
		if n := b.count(id, perdure.EventTaskScheduled); ran.Load() != 1 || n != 1 {
			t.Errorf("%d tasks ran %d times", n, ran.Load())
		}
	})
}

// doomed is the dispatch of a worker that dies when it commits a checkpoint. The server receives
// neither that commit nor any call after it.
type doomed struct {
	perdure.Dispatch
	dead atomic.Bool
}

func (d *doomed) Commit(ctx context.Context, c perdure.Commit) (perdure.CommitReply, error) {
	if c.Checkpoint != nil {
		d.dead.Store(true)
	}
	if d.dead.Load() {
		return perdure.CommitReply{}, perdure.Errorf(perdure.LeaseLost, "planned: the worker is dead")
	}
	return d.Dispatch.Commit(ctx, c)
}

func (d *doomed) Release(ctx context.Context, r perdure.Release) error {
	if d.dead.Load() {
		return nil // a dead worker releases nothing; its leases expire
	}
	return d.Dispatch.Release(ctx, r)
}

func (d *doomed) Heartbeat(ctx context.Context, h perdure.Heartbeat) (perdure.HeartbeatReply, error) {
	if d.dead.Load() {
		return perdure.HeartbeatReply{}, unavailable()
	}
	return d.Dispatch.Heartbeat(ctx, h)
}

func (d *doomed) PollAgents(ctx context.Context, p perdure.Poll) ([]perdure.AgentClaim, error) {
	if d.dead.Load() {
		<-ctx.Done()
		return nil, nil
	}
	return d.Dispatch.PollAgents(ctx, p)
}

// TestCrashBeforeCheckpoint checks a worker that dies before a checkpoint. By then, a signal was
// taken, an entry about it was stored, and a task was completed. The function is entered again with
// the same signal and result. No entry is stored twice, and the task runs once.
func TestCrashBeforeCheckpoint(t *testing.T) {
	longtest.Skip(t, "seconds")
	everyWay(t, time.Second, func(b *bench, way func(*Config)) {
		var ran, entered atomic.Int32
		b.task("double", func(_ agent.TaskContext, n int) (int, error) { ran.Add(1); return 2 * n, nil })
		b.agent("a", func(ctx agent.Context) (string, error) {
			entered.Add(1)
			s, err := ctx.WaitSignal("m", 0)
			if err != nil {
				return "", err
			}
			if _, err := ctx.Append(user(string(s.Value)), agent.WithKey(s.EntryKey())); err != nil {
				return "", err
			}
			v, err := agent.Call[int](ctx, "double", 21)
			if err != nil {
				return "", err
			}
			if err := appendAll(ctx, assistant(fmt.Sprint(v))); err != nil {
				return "", err
			}
			return "fine", ctx.Checkpoint(1)
		})
		first := &doomed{Dispatch: b.e.Dispatch(org, false)}
		dead := b.work(way, func(c *Config) { c.Dispatch = first })
		id := b.start("a")
		b.signal(id, "m", `7`)
		eventually(t, "the worker to be lost", first.dead.Load)
		dead.stop()
		b.work(way)
		b.output(id, "fine")
		b.wantTexts(id, "7", "42")
		if ran.Load() != 1 || entered.Load() < 2 {
			t.Errorf("the task ran %d times, the function %d", ran.Load(), entered.Load())
		}
	})
}

// TestJoinAllKeepsInputOrder checks that JoinAll returns results in the order of the futures,
// although the tasks end in the reverse order.
func TestJoinAllKeepsInputOrder(t *testing.T) {
	everyWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		const n = 5
		var ended [n + 1]chan struct{}
		var once [n + 1]sync.Once
		for i := range ended {
			ended[i] = make(chan struct{})
		}
		close(ended[n])
		b.task("double", func(ctx agent.TaskContext, i int) (int, error) {
			select {
			case <-ended[i+1]:
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
			once[i].Do(func() { close(ended[i]) })
			return 2 * i, nil
		})
		b.agent("a", func(ctx agent.Context) (string, error) {
			var futures []agent.Future
			for i := range n {
				futures = append(futures, ctx.Schedule("double", i))
			}
			got, err := agent.JoinAll[int](ctx, futures...)
			return fmt.Sprint(got), err
		})
		b.work(way)
		b.output(b.start("a"), "[0 2 4 6 8]")
	})
}

// TestSelectFirstSuccess checks that Select ignores failures and returns the first success in the
// order of the futures. If all tasks fail, it returns an error.
func TestSelectFirstSuccess(t *testing.T) {
	everyWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		release := make(chan struct{})
		b.task("slow", func(ctx agent.TaskContext, i int) (int, error) {
			select {
			case <-release:
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
			return i, nil
		})
		b.task("quick", func(_ agent.TaskContext, i int) (int, error) { return i, nil })
		b.task("fail", func(_ agent.TaskContext, i int) (int, error) { return 0, agent.Permanent(fmt.Errorf("no luck %d", i)) })
		b.agent("a", func(ctx agent.Context) (string, error) {
			all := []agent.Future{ctx.Schedule("fail", 1), ctx.Schedule("slow", 2), ctx.Schedule("quick", 3)}
			var first int
			if known, err := ctx.State(&first); err != nil {
				return "", err
			} else if !known {
				if first, _, err = agent.Select[int](ctx, all...); err != nil {
					return "", err
				}
				if err := ctx.Checkpoint(first); err != nil {
					return "", err
				}
			}
			if _, err := ctx.WaitSignal("m", 0); err != nil {
				return "", err
			}
			if _, err := agent.JoinAll[int](ctx, all[1:]...); err != nil {
				return "", err
			}
			j, w, err := agent.Select[int](ctx, all...)
			if err != nil {
				return "", err
			}
			_, _, failed := agent.Select[int](ctx, all[0], ctx.Schedule("fail", 4))
			return fmt.Sprint(first, j, w, failed != nil), nil
		})
		b.work(way)
		id := b.start("a")
		b.waiting(id, "signal")
		close(release)
		b.signal(id, "m", `1`)
		b.output(id, "2 1 2 true")
	})
}
