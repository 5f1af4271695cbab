package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestSilentCodeTimesOut checks an attempt that does not call Heartbeat or Progress for the length
// of its heartbeat timeout. The attempt fails with the error timeout and is repeated, although the
// worker renews the lease. An attempt that calls them, and an attempt without a heartbeat timeout,
// may take longer.
func TestSilentCodeTimesOut(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, time.Second)
	const bound = 600 * time.Millisecond
	var tries atomic.Int32
	b.task("silent", func(ctx agent.TaskContext, n int) (int, error) {
		if tries.Add(1) == 1 {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return n, nil
	})
	b.task("signs", func(ctx agent.TaskContext, n int) (int, error) {
		for i := range 30 {
			rest(ctx, bound/20)
			if i%2 == 0 {
				ctx.Heartbeat()
			} else {
				ctx.Progress(i)
			}
		}
		return n, ctx.Err()
	})
	b.task("unbound", func(ctx agent.TaskContext, n int) (int, error) {
		rest(ctx, 2*bound)
		return n, ctx.Err()
	})
	b.agent("a", func(ctx agent.Context) (string, error) {
		quick := agent.Backoff(time.Millisecond, time.Millisecond)
		return "done", firstError(ctx.Await(agent.All,
			ctx.Schedule("silent", 1, agent.HeartbeatTimeout(bound), quick),
			ctx.Schedule("signs", 2, agent.HeartbeatTimeout(bound), agent.Attempts(1)),
			ctx.Schedule("unbound", 3, agent.Attempts(1)),
		))
	})
	b.work()
	id := b.start("a")
	b.output(id, "done")
	var retried struct{ Code perdure.Code }
	for _, r := range b.log(id) {
		if r.Type == perdure.EventTaskRetrying {
			if err := json.Unmarshal(r.Fields, &retried); err != nil {
				t.Fatal(err)
			}
		}
	}
	if tries.Load() != 2 || retried.Code != "timeout" {
		t.Errorf("%d tries, after %q", tries.Load(), retried.Code)
	}
}

// TestCodeThatHeedsNothingIsGivenUpOn checks code that exceeds its heartbeat timeout and ignores
// its context. The server starts another attempt.
func TestCodeThatHeedsNothingIsGivenUpOn(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, 300*time.Millisecond)
	leave := make(chan struct{})
	var tries atomic.Int32
	b.task("deaf", func(ctx agent.TaskContext, n int) (int, error) {
		if tries.Add(1) == 1 {
			ctx.Heartbeat()
			<-leave
			return -1, nil
		}
		return n, nil
	})
	b.agent("a", func(ctx agent.Context) (string, error) {
		n, err := agent.Call[int](ctx, "deaf", 1, agent.HeartbeatTimeout(100*time.Millisecond), agent.Backoff(time.Millisecond, time.Millisecond))
		return fmt.Sprint(n), err
	})
	b.work()
	id := b.start("a")
	b.output(id, "1")
	close(leave)
	if n := b.count(id, perdure.EventTaskRetrying); n != 1 {
		t.Errorf("it was tried again %d times", n)
	}
}

// firstError returns err or, if it is nil, the first error of the results.
func firstError(results []agent.Result, err error) error {
	for _, r := range results {
		if err == nil {
			err = r.Err()
		}
	}
	return err
}

// TestProgressIsSeenWhileItRuns checks that the list of tasks contains the progress of a running
// attempt, even if the first heartbeat that contained the progress was lost.
func TestProgressIsSeenWhileItRuns(t *testing.T) {
	b := newBench(t, 300*time.Millisecond)
	leave := make(chan struct{})
	b.task("long", func(ctx agent.TaskContext, n int) (int, error) {
		ctx.Progress(map[string]int{"done": 7})
		<-leave
		return n, nil
	})
	b.agent("a", func(ctx agent.Context) (string, error) {
		return "done", firstError(ctx.Await(agent.All, ctx.Schedule("long", 1)))
	})
	b.work(b.overFaulty(&faulty{plan: func(method string, n int) fault {
		if method == "Heartbeat" && n <= 1 {
			return before
		}
		return fine
	}}))
	id := b.start("a")
	eventually(t, "the progress", func() bool {
		page, err := b.s.ListTasks(t.Context(), id, false, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Items) == 1 && page.Items[0].Status == perdure.TaskRunning && string(page.Items[0].Progress) == `{"done":7}`
	})
	close(leave)
	b.output(id, "done")
}

// TestDiscardIsReported checks that the worker tells the server which goroutine it has discarded.
func TestDiscardIsReported(t *testing.T) {
	b := newBench(t, time.Minute)
	told := make(chan uuid.UUID, 8)
	b.agent("a", func(ctx agent.Context) (string, error) {
		_, err := ctx.WaitSignal("go", 0)
		return "done", err
	})
	f := &faulty{onRelease: func(r perdure.Release) {
		for _, id := range r.Discarded {
			told <- id
		}
	}}
	w := b.work(b.overFaulty(f), func(c *Config) { c.Parked = 1 })
	first := b.start("a")
	b.waiting(first, "signal")
	w.parkedNow(t, first)
	second := b.start("a") // its goroutine takes the only place for a parked one, so the first one is discarded
	if got := wait(t, "the server to be told", told); got != first {
		t.Errorf("it was told of %s, want %s", got, first)
	}
	for _, id := range []uuid.UUID{first, second} {
		b.signal(id, "go", "1")
		b.output(id, "done")
	}
}

// TestKeyTTLInOneRun checks a task key with a TTL in one run of the function. The key refers to the
// same task until a checkpoint, and then to a new task.
func TestKeyTTLInOneRun(t *testing.T) {
	b := newBench(t, time.Minute)
	var runs atomic.Int32
	b.task("count", func(agent.TaskContext, int) (int, error) { return int(runs.Add(1)), nil })
	var seen []string
	b.agent("a", func(ctx agent.Context) (string, error) {
		seen = nil
		ask := func() error {
			results, err := ctx.Await(agent.All, ctx.Schedule("count", 1, agent.Key("k"), agent.KeyTTL(time.Millisecond)))
			if err == nil {
				seen = append(seen, string(results[0].Task.Result))
			}
			return err
		}
		for _, step := range []func() error{
			ask, ask, // before the checkpoint, both are the same task
			func() error { return ctx.Sleep(20 * time.Millisecond) }, ask,
			func() error { return ctx.Checkpoint(1) }, ask, ask,
		} {
			if err := step(); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	b.work()
	id := b.start("a")
	b.output(id, "done")
	if got, want := len(seen), 5; got != want {
		t.Fatalf("%v", seen)
	}
	for i, want := range []string{"1", "1", "1", "2", "2"} {
		if seen[i] != want {
			t.Fatalf("the answers are %v, want 1 1 1 2 2", seen)
		}
	}
}

// TestTaskOptionsAreCheckedAtTheEdge checks that Schedule returns a future with an invalid_argument
// error for invalid options. The error names the option.
func TestTaskOptionsAreCheckedAtTheEdge(t *testing.T) {
	b := newBench(t, time.Minute)
	b.agent("a", func(ctx agent.Context) (string, error) {
		for name, o := range map[string]agent.TaskOption{
			"options.priority":         agent.Priority(10),
			"options.heartbeatTimeout": agent.HeartbeatTimeout(-time.Second),
			"options.keyTtl":           agent.KeyTTL(time.Second),
			"options.concurrencyLimit": agent.ConcurrencyKey("k", -1),
		} {
			err := ctx.Schedule("any", 1, o).Err()
			var coded *perdure.Error
			if !errors.As(err, &coded) || coded.Code != perdure.InvalidArgument || coded.Fields[0].Location != name {
				t.Errorf("%s: %v", name, err)
			}
		}
		return "done", nil
	})
	b.work()
	b.output(b.start("a"), "done")
}
