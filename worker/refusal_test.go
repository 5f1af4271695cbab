package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// passing are the temporary errors with which a server refuses a call whatever the call contains.
var passing = map[string]error{
	"unavailable":       perdure.Errorf(perdure.Unavailable, "planned"),
	"rate_limited":      perdure.Errorf(perdure.RateLimited, "planned"),
	"internal":          perdure.Errorf(perdure.Internal, "planned"),
	"unauthenticated":   perdure.Errorf(perdure.Unauthenticated, "planned"),
	"permission_denied": perdure.Errorf(perdure.PermissionDenied, "planned"),
	"without a code":    errors.New("planned"),
	"deadline":          fmt.Errorf("planned: %w", context.DeadlineExceeded),
	"cancelled":         fmt.Errorf("planned: %w", context.Canceled),
}

// TestPaidWorkIsSentUntilTheServerHasIt checks that the end of an attempt, a commit and their
// uploads are repeated after each temporary error. The code of the task, of the step and of the
// agent runs only once.
func TestPaidWorkIsSentUntilTheServerHasIt(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, failure := range passing {
		for _, method := range []string{"FinishTask", "Commit", "PutBlob"} {
			t.Run(method+" "+name, func(t *testing.T) {
				b := newBench(t, time.Minute)
				var tasks, steps, entered atomic.Int32
				large := strings.Repeat("x", perdure.InlineLimit+1)
				b.said("paid", func(agent.TaskContext, int) (string, error) { tasks.Add(1); return large, nil })
				b.agent("a", func(ctx agent.Context) (string, error) {
					entered.Add(1)
					if _, err := agent.Step(ctx, "step", func(context.Context) (string, error) { steps.Add(1); return large, nil }); err != nil {
						return "", err
					}
					_, err := agent.Call[string](ctx, "paid", 1, agent.Attempts(1))
					return "fine", err
				})
				b.work(b.overFaulty(&faulty{refuse: func(called string, n int) error {
					if called == method && n%4 != 0 {
						return failure
					}
					return nil
				}}))
				b.output(b.start("a"), "fine")
				if tasks.Load() != 1 || steps.Load() != 1 || entered.Load() != 1 {
					t.Errorf("the task ran %d times, the step %d, the agent was entered %d times", tasks.Load(), steps.Load(), entered.Load())
				}
			})
		}
	}
}

// TestAResultThatIsRefusedIsNotPaidAgain checks a task whose result the server refuses. The task
// fails with the server's error code, and does not run again.
func TestAResultThatIsRefusedIsNotPaidAgain(t *testing.T) {
	for _, code := range []perdure.Code{perdure.PayloadTooLarge, perdure.InvalidArgument, perdure.Conflict} {
		t.Run(string(code), func(t *testing.T) {
			b := newBench(t, time.Minute)
			var tasks atomic.Int32
			b.said("paid", func(agent.TaskContext, int) (string, error) { tasks.Add(1); return "result", nil })
			b.agent("a", func(ctx agent.Context) (string, error) {
				_, err := agent.Call[string](ctx, "paid", 1, agent.Attempts(3))
				return fmt.Sprint(perdure.CodeOf(err)), nil
			})
			b.work(b.overFaulty(&faulty{onFinish: func(f perdure.TaskFinish) error {
				if f.Error == nil {
					return perdure.Errorf(code, "planned")
				}
				return nil
			}}))
			b.output(b.start("a"), string(code))
			if tasks.Load() != 1 {
				t.Errorf("the task ran %d times", tasks.Load())
			}
		})
	}
}

// TestAResultIsStoredWithoutWhatWasShown checks that a task's result is stored even if the server
// refuses a part of the task's streamed output or has lost a part of it.
func TestAResultIsStoredWithoutWhatWasShown(t *testing.T) {
	run := func(t *testing.T, change func(b *bench, c *Config)) {
		b := newBench(t, time.Minute)
		var tasks atomic.Int32
		b.said("paid", func(ctx agent.TaskContext, _ int) (string, error) {
			tasks.Add(1)
			ctx.Stream().Text("shown")
			return "result", nil
		})
		b.agent("a", func(ctx agent.Context) (string, error) {
			return agent.Call[string](ctx, "paid", 1, agent.Attempts(3))
		})
		b.work(func(c *Config) { change(b, c) })
		b.output(b.start("a"), "result")
		if tasks.Load() != 1 {
			t.Errorf("the task ran %d times", tasks.Load())
		}
	}
	t.Run("a frame is refused", func(t *testing.T) {
		run(t, func(b *bench, c *Config) {
			c.Dispatch = &choosy{b.e.Dispatch(org, false), func(perdure.Frame) *perdure.Error {
				return perdure.Errorf(perdure.InvalidArgument, "planned")
			}}
		})
	})
	t.Run("a block is shorter", func(t *testing.T) {
		run(t, func(b *bench, c *Config) {
			b.overFaulty(&faulty{onFinish: func(f perdure.TaskFinish) error {
				if len(f.Blocks) > 0 {
					return perdure.Errorf(perdure.Conflict, "planned")
				}
				return nil
			}})(c)
		})
	})
}

// TestARefusedCommitLeavesItsBlocksToTheNext checks that a streamed block is closed once, by the
// next commit, if the commit that would have closed it is refused.
func TestARefusedCommitLeavesItsBlocksToTheNext(t *testing.T) {
	b := newBench(t, time.Minute)
	b.e.PayloadLimit = 1 << 20
	b.agent("a", func(ctx agent.Context) (string, error) {
		ctx.Stream().Text("says")
		_, err := agent.Step(ctx, "large", func(context.Context) (string, error) { return strings.Repeat("x", 2<<20), nil })
		if !perdure.IsCode(err, perdure.PayloadTooLarge) {
			t.Errorf("the step's error is %v", err)
		}
		if _, err := ctx.WaitSignal("go", 0); err != nil {
			return "", err
		}
		return "fine", nil
	})
	b.work()
	id := b.start("a")
	b.waiting(id, "signal")
	if n := b.count(id, perdure.EventBlockClosed); n != 1 {
		t.Errorf("%d blocks are closed while the execution waits", n)
	}
	b.signal(id, "go", "null")
	b.output(id, "fine")
}

// TestAWorkerGivesUpWhatItHasLost checks that a worker that has lost the lease sends the end of an
// attempt only once, and that the task then runs again. If the server refuses the worker's key, the
// worker drops the attempt.
func TestAWorkerGivesUpWhatItHasLost(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, code := range []perdure.Code{perdure.LeaseLost, perdure.NotFound} {
		t.Run(string(code), func(t *testing.T) {
			b := newBench(t, 500*time.Millisecond)
			var tasks atomic.Int32
			var refused atomic.Int32
			b.said("paid", func(agent.TaskContext, int) (string, error) { tasks.Add(1); return "result", nil })
			b.agent("a", func(ctx agent.Context) (string, error) {
				return agent.Call[string](ctx, "paid", 1, agent.Attempts(3))
			})
			b.work(b.overFaulty(&faulty{onFinish: func(f perdure.TaskFinish) error {
				if f.Lease.Attempt == 1 {
					refused.Add(1)
					return perdure.Errorf(code, "planned")
				}
				return nil
			}}))
			b.output(b.start("a"), "result")
			if tasks.Load() != 2 || refused.Load() != 1 {
				t.Errorf("the task ran %d times; its first end was sent %d times", tasks.Load(), refused.Load())
			}
		})
	}
	t.Run("the key is refused", func(t *testing.T) {
		b := newBench(t, 300*time.Millisecond)
		var refusing atomic.Bool
		b.said("paid", func(agent.TaskContext, int) (string, error) { refusing.Store(true); return "result", nil })
		b.agent("a", func(ctx agent.Context) (string, error) {
			return agent.Call[string](ctx, "paid", 1, agent.Attempts(3))
		})
		f := &faulty{refuse: func(method string, _ int) error {
			if refusing.Load() && (method == "FinishTask" || method == "Heartbeat") {
				return perdure.Errorf(perdure.Unauthenticated, "planned")
			}
			return nil
		}}
		r := b.work(b.overFaulty(f))
		b.start("a")
		eventually(t, "the end to be sent", func() bool { return f.count("FinishTask") > 0 })
		eventually(t, "the attempt to be given up", func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return len(r.attempts) == 0
		})
	})
}

// said defines a task whose result is a text.
func (b *bench) said(name string, fn func(agent.TaskContext, int) (string, error)) {
	b.tasks = append(b.tasks, agent.DefineTask(name, fn))
}

// told collects a worker's log. It is safe for concurrent use.
type told struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *told) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *told) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// TestACommitThatIsNeverStoredGoesToAnotherWorker checks a commit that the server cannot store for
// StoreFor. The worker drops the commit, releases the execution, and logs a line with the
// execution's id. The execution is then claimed again.
func TestACommitThatIsNeverStoredGoesToAnotherWorker(t *testing.T) {
	b := newBench(t, time.Minute)
	var entered, refused, retried, given atomic.Int32
	b.agent("a", func(ctx agent.Context) (string, error) {
		entered.Add(1)
		return agent.Step(ctx, "step", func(context.Context) (string, error) { return "fine", nil })
	})
	var log told
	b.work(b.overFaulty(&faulty{onCommit: func(c perdure.Commit, _ *perdure.CommitReply) error {
		if c.Lease.Fence == 1 {
			refused.Add(1)
			return perdure.Errorf(perdure.Internal, "planned")
		}
		return nil
	}}), func(c *Config) {
		c.StoreFor = 100 * time.Millisecond
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Observer = &Observer{
			Retried: func(code perdure.Code) {
				if code == perdure.Internal {
					retried.Add(1)
				}
			},
			NotStored: func(task bool) {
				if !task {
					given.Add(1)
				}
			},
		}
	})
	id := b.start("a")
	b.output(id, "fine")
	if entered.Load() != 2 || refused.Load() < 2 || retried.Load() != refused.Load()-1 || given.Load() != 1 {
		t.Errorf("entered %d times, refused %d, retried %d, given back %d", entered.Load(), refused.Load(), retried.Load(), given.Load())
	}
	if said := log.String(); !strings.Contains(said, "it is given back") || !strings.Contains(said, id.String()) {
		t.Errorf("it is not told of with its id:\n%s", said)
	}
}

// TestAResultThatIsNeverStoredFailsItsTask checks a result that the server cannot store for
// StoreFor. The task fails with the error not_stored and does not run again.
func TestAResultThatIsNeverStoredFailsItsTask(t *testing.T) {
	b := newBench(t, time.Minute)
	var tasks, given atomic.Int32
	b.said("paid", func(agent.TaskContext, int) (string, error) { tasks.Add(1); return "result", nil })
	b.agent("a", func(ctx agent.Context) (string, error) {
		_, err := agent.Call[string](ctx, "paid", 1, agent.Attempts(3))
		var failed *perdure.TaskError
		if !errors.As(err, &failed) {
			return "", fmt.Errorf("the task gave %w", err)
		}
		return string(failed.Code), nil
	})
	b.work(b.overFaulty(&faulty{onFinish: func(f perdure.TaskFinish) error {
		if f.Error == nil {
			return perdure.Errorf(perdure.Internal, "planned")
		}
		return nil
	}}), func(c *Config) {
		c.StoreFor = 100 * time.Millisecond
		c.Observer = &Observer{NotStored: func(bool) { given.Add(1) }}
	})
	b.output(b.start("a"), "not_stored")
	if tasks.Load() != 1 || given.Load() != 0 {
		t.Errorf("the task ran %d times, and its outcome was given up %d times", tasks.Load(), given.Load())
	}
}
