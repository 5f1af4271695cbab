package worker

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// eachWay runs a test twice: with parked goroutines, and with functions that are entered again
// after each wait.
func eachWay(t *testing.T, lease time.Duration, test func(b *bench, way func(*Config))) {
	t.Helper()
	for name, n := range map[string]int{"in place": 100, "entered again": -1} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, lease)
			b.T = t
			test(b, func(c *Config) { c.Parked = n })
		})
	}
}

// defineTasks defines the task kinds "double", "fail" and "held". A task of the kind "held" with
// the input n waits until the test calls release(n).
func defineTasks(b *bench) (release func(n int)) {
	var mu sync.Mutex
	gates := map[int]chan struct{}{}
	gate := func(n int) chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		if gates[n] == nil {
			gates[n] = make(chan struct{})
		}
		return gates[n]
	}
	b.task("double", func(_ agent.TaskContext, n int) (int, error) { return 2 * n, nil })
	b.task("fail", func(_ agent.TaskContext, n int) (int, error) {
		return 0, agent.Permanent(fmt.Errorf("no luck with %d", n))
	})
	b.task("held", func(ctx agent.TaskContext, n int) (int, error) {
		select {
		case <-gate(n):
			return 2 * n, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	return func(n int) { close(gate(n)) }
}

func TestJoinAllOfNothing(t *testing.T) {
	eachWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			all, err := agent.JoinAll[int](ctx)
			if err != nil || len(all) != 0 {
				return "", fmt.Errorf("no tasks gave %v, %w", all, err)
			}
			settled, err := agent.JoinSettled[int](ctx)
			if err != nil || len(settled) != 0 {
				return "", fmt.Errorf("no tasks gave %v, %w", settled, err)
			}
			if i, _, err := agent.Select[int](ctx); i != -1 || !perdure.IsCode(err, perdure.InvalidArgument) {
				return "", fmt.Errorf("a select of nothing gave %d, %w", i, err)
			}
			return "fine", nil
		})
		b.work(way)
		id := b.start("a")
		b.output(id, "fine")
		if n := b.count(id, perdure.EventWaiting); n != 0 {
			b.Errorf("it waited %d times", n)
		}
	})
}

// TestJoinOrder checks that JoinAll returns the results in the order of its arguments, although the
// third task ends before the first one.
func TestJoinOrder(t *testing.T) {
	eachWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		release := defineTasks(b)
		b.agent("a", func(ctx agent.Context) (string, error) {
			all, err := agent.JoinAll[int](ctx, ctx.Schedule("held", 1), ctx.Schedule("double", 2), ctx.Schedule("held", 3))
			return fmt.Sprint(all), err
		})
		b.work(way)
		id := b.start("a")
		b.waiting(id, "task")
		release(3)
		b.until(id, "two ends", func(*perdure.Execution) bool { return b.count(id, perdure.EventTaskCompleted) == 2 })
		release(1)
		b.output(id, "[2 4 6]")
	})
}

// TestJoinAllFailsFast checks that JoinAll returns the first failure while another task still runs.
func TestJoinAllFailsFast(t *testing.T) {
	eachWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		defineTasks(b)
		b.agent("a", func(ctx agent.Context) (string, error) {
			_, err := agent.JoinAll[int](ctx, ctx.Schedule("held", 1), ctx.Schedule("fail", 2))
			var failed *perdure.TaskError
			if !errors.As(err, &failed) {
				return "", fmt.Errorf("the join gave %w", err)
			}
			return failed.Message, nil
		})
		b.work(way)
		id := b.start("a")
		b.output(id, "no luck with 2")
		if n := b.count(id, perdure.EventTaskCompleted); n != 0 {
			b.Errorf("%d tasks completed; the join waited for them", n)
		}
	})
}

// TestTerminalFuturesDoNotSuspend checks that Select and JoinSettled make no commit if all tasks of
// the futures have ended.
func TestTerminalFuturesDoNotSuspend(t *testing.T) {
	eachWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		defineTasks(b)
		b.agent("a", func(ctx agent.Context) (string, error) {
			one, two := ctx.Schedule("double", 1), ctx.Schedule("fail", 2)
			if _, err := agent.JoinSettled[int](ctx, one, two); err != nil {
				return "", err
			}
			before := ctx.(*run).number
			i, v, err := agent.Select[int](ctx, two, one)
			if err != nil {
				return "", err
			}
			settled, err := agent.JoinSettled[int](ctx, one, two)
			if err != nil {
				return "", err
			}
			if ctx.(*run).number != before {
				return "", errors.New("it committed to learn what it knew")
			}
			return fmt.Sprint(i, v, settled[0].Value, settled[1].Err), nil
		})
		b.work(way)
		b.output(b.start("a"), "1 2 2 task_failed: no luck with 2")
	})
}

func TestSelectWhenAllFailed(t *testing.T) {
	eachWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		defineTasks(b)
		b.agent("a", func(ctx agent.Context) (string, error) {
			i, _, err := agent.Select[int](ctx, ctx.Schedule("fail", 1), ctx.Schedule("fail", 2))
			return fmt.Sprint(i, err), nil
		})
		b.work(way)
		b.output(b.start("a"), "-1 task_failed: no luck with 2")
	})
}

// TestSelectGivesTheSameAgain checks that Select returns the first success in argument order. When
// the function is entered again, Select returns the recorded choice, although an earlier future has
// succeeded in the meantime.
func TestSelectGivesTheSameAgain(t *testing.T) {
	eachWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
		release := defineTasks(b)
		var said sync.Map
		b.agent("a", func(ctx agent.Context) (string, error) {
			slow := ctx.Schedule("held", 1)
			i, v, err := agent.Select[int](ctx, slow, ctx.Schedule("double", 2), ctx.Schedule("double", 3))
			if err != nil {
				return "", err
			}
			said.Store(fmt.Sprint(i, v), true)
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			j, _, err := agent.Select[int](ctx, slow, ctx.Schedule("double", 3))
			return fmt.Sprint(i, v, j), err
		})
		w := b.work(way)
		id := b.start("a")
		b.waiting(id, "signal")
		release(1)
		b.until(id, "the slow task to end", func(*perdure.Execution) bool { return b.count(id, perdure.EventTaskCompleted) == 3 })
		w.stop() // another worker then enters the function again
		b.work(way)
		b.signal(id, "go", "1")
		b.ended(id, perdure.StatusCompleted)
		n := 0
		said.Range(func(what, _ any) bool {
			if n++; strings.HasPrefix(what.(string), "0 ") {
				b.Errorf("the first select gave %v later", what)
			}
			return true
		})
		if n != 1 {
			b.Errorf("the first select gave %d different things", n)
		}
		if out := string(b.execution(id).Output); out[len(out)-2] != '0' {
			b.Errorf("the output is %s; by input order the second select gives 0", out)
		}
	})
}

func TestSelectCancelCancelsTheRest(t *testing.T) {
	eachWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		defineTasks(b)
		b.agent("a", func(ctx agent.Context) (string, error) {
			held := ctx.Schedule("held", 1)
			i, v, err := agent.SelectCancel[int](ctx, held, ctx.Schedule("double", 2))
			if err != nil {
				return "", err
			}
			_, err = agent.Await[int](ctx, held)
			return fmt.Sprintf("%d %d %s", i, v, perdure.CodeOf(err)), nil
		})
		b.work(way)
		id := b.start("a")
		b.output(id, "1 4 "+string(perdure.ExecutionEnded))
		if n := b.count(id, perdure.EventTaskCancelled); n != 1 {
			b.Errorf("%d tasks were cancelled, want 1", n)
		}
	})
}

// TestCancelWrongAgent checks that an agent cannot cancel a task of another execution: its commit
// fails with NotFound, and the task completes.
func TestCancelWrongAgent(t *testing.T) {
	eachWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		release := defineTasks(b)
		task := make(chan uuid.UUID, 8)
		b.agent("owner", func(ctx agent.Context) (string, error) {
			f := ctx.Schedule("held", 1)
			task <- f.ID
			n, err := agent.Await[int](ctx, f)
			return fmt.Sprint(n), err
		})
		b.agent("other", func(ctx agent.Context) (string, error) {
			ctx.CancelTask(agent.FutureOf(<-task, "held"))
			return fmt.Sprint(perdure.CodeOf(ctx.Flush())), nil
		})
		b.work(way)
		owner := b.start("owner")
		b.waiting(owner, "task")
		b.output(b.start("other"), string(perdure.NotFound))
		release(1)
		b.output(owner, "2")
	})
}

// TestEqualTasksAreOne checks that tasks with the same kind and input are one task with one result,
// and that the option Instance makes them distinct.
func TestEqualTasksAreOne(t *testing.T) {
	eachWay(t, 5*time.Second, func(b *bench, way func(*Config)) {
		var ran atomic.Int32
		b.task("count", func(agent.TaskContext, int) (int, error) { return int(ran.Add(1)), nil })
		b.agent("a", func(ctx agent.Context) (string, error) {
			first, second := ctx.Schedule("count", 7), ctx.Schedule("count", 7)
			if first.ID != second.ID {
				return "", errors.New("two equal tasks have two ids")
			}
			all, err := agent.JoinAll[int](ctx, first, second)
			if err != nil {
				return "", err
			}
			other, err := agent.Call[int](ctx, "count", 7, agent.Instance("other"))
			return fmt.Sprint(all[0] == all[1], other != all[0]), err
		})
		b.work(way)
		b.output(b.start("a"), "true true")
		if n := ran.Load(); n != 2 {
			b.Errorf("%d tasks ran, want 2", n)
		}
	})
}

// TestOtherGoroutinesPanic checks that a blocking call of agent.Context panics in a goroutine that
// the agent has started. The message names JoinAll, JoinSettled and Select as alternatives.
func TestOtherGoroutinesPanic(t *testing.T) {
	b := newBench(t, 5*time.Second)
	calls := map[string]func(agent.Context){
		"Await":      func(ctx agent.Context) { _, _ = ctx.Await(agent.All) },
		"WaitSignal": func(ctx agent.Context) { _, _ = ctx.WaitSignal("s", 0) },
		"WaitAny":    func(ctx agent.Context) { _, _ = ctx.WaitAny(0, agent.OnSignal("s")) },
		"Sleep":      func(ctx agent.Context) { _ = ctx.Sleep(1) },
		"Flush":      func(ctx agent.Context) { _ = ctx.Flush() },
		"RunStep":    func(ctx agent.Context) { _, _ = ctx.RunStep("s", nil) },
		"Checkpoint": func(ctx agent.Context) { _ = ctx.Checkpoint(1) },
	}
	b.agent("a", func(ctx agent.Context) (string, error) {
		for name, call := range calls {
			said := make(chan string)
			go func() {
				defer func() { said <- fmt.Sprint(recover()) }()
				call(ctx)
			}()
			if got := <-said; !strings.Contains(got, "JoinAll, JoinSettled or Select") {
				return "", fmt.Errorf("%s said %q", name, got)
			}
		}
		return "fine", nil
	})
	b.work()
	b.output(b.start("a"), "fine")
}
