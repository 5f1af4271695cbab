package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// TestPanicInAgentCode checks that an execution runs again after a panic of its function, and fails
// after the third panic. No pending entry of such a run is stored.
func TestPanicInAgentCode(t *testing.T) {
	b := newBench(t, 5*time.Second)
	var entered atomic.Int32
	b.agent("always", func(ctx agent.Context) (string, error) {
		entered.Add(1)
		_, _ = ctx.Append(user("ghost"))
		panic("boom")
	})
	var tries atomic.Int32
	b.agent("once", func(ctx agent.Context) (string, error) {
		if tries.Add(1) == 1 {
			panic("boom")
		}
		return "fine", nil
	})
	var log told
	r := b.work(func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	once := b.start("once")
	eventually(t, "its panic", func() bool { return b.execution(once).Panics == 2 })
	b.ahead.Add(int64(time.Second))
	b.output(once, "fine")
	id := b.start("always")
	for n := 1; n <= 2; n++ {
		eventually(t, "the next panic", func() bool { return b.execution(id).Panics == 2*n })
		b.ahead.Add(int64(time.Duration(n) * time.Second)) // skips the backoff before the next try
	}
	x := b.ended(id, perdure.StatusFailed)
	if *x.ErrorCode != "panic" || !strings.Contains(*x.Error, "boom") || !strings.Contains(*x.Error, "outcome_test.go") {
		t.Errorf("the error is %s: %s", *x.ErrorCode, *x.Error)
	}
	if !strings.Contains(log.String(), "outcome_test.go:") {
		t.Errorf("the log has no stack:\n%s", log.String())
	}
	if n := entered.Load(); n != 3 {
		t.Errorf("it was entered %d times, want 3", n)
	}
	if n := b.count(id, perdure.EventEntry); n != 0 {
		t.Errorf("%d entries of a panic", n)
	}
	r.stop()
	if n := len(r.agentSlots); n != 0 {
		t.Errorf("%d agent slots are still taken", n)
	}
}

// TestPanicInTaskCode checks that a panic of task code fails the attempt like an error. The stack
// is in the worker's log but not in the error, because the error may become part of a conversation.
func TestPanicInTaskCode(t *testing.T) {
	b := newBench(t, 5*time.Second)
	b.agent("a", func(ctx agent.Context) (string, error) {
		_, err := agent.Call[int](ctx, "boom", 1, agent.Attempts(2), agent.Backoff(time.Millisecond, time.Millisecond))
		var failed *perdure.TaskError
		if errors.As(err, &failed) && failed.Message != "panic: boom" {
			t.Errorf("the task failed with %q", failed.Message)
		}
		return fmt.Sprint(perdure.CodeOf(err)), nil
	})
	var tries atomic.Int32
	b.task("boom", func(agent.TaskContext, int) (int, error) { tries.Add(1); panic("boom") })
	var log told
	r := b.work(func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	b.output(b.start("a"), "panic")
	r.stop()
	if tries.Load() != 2 {
		t.Errorf("%d attempts, want 2", tries.Load())
	}
	if !strings.Contains(log.String(), "outcome_test.go:") {
		t.Errorf("the log has no stack:\n%s", log.String())
	}
}

// TestRefusedCommitCanBeMendedByTheAgent checks that a refused commit has no effect: the agent
// receives its signal again, and can schedule its task again.
func TestRefusedCommitCanBeMendedByTheAgent(t *testing.T) {
	b := newBench(t, 5*time.Second)
	b.task("double", func(_ agent.TaskContext, n int) (int, error) { return 2 * n, nil })
	b.agent("a", func(ctx agent.Context) (string, error) {
		if _, err := ctx.Append(user("first"), agent.WithKey("first")); err != nil {
			return "", err
		}
		if err := ctx.Flush(); err != nil {
			return "", err
		}
		s, err := ctx.WaitSignal("go", 0)
		if err != nil {
			return "", err
		}
		bad := perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{{Type: perdure.PartToolResult, ToolCallID: "none"}}}}
		if _, err := ctx.Append(bad); err != nil {
			return "", err
		}
		ctx.Schedule("double", 4)
		if err := ctx.Flush(); !perdure.IsCode(err, perdure.InvalidTranscript) {
			return "", fmt.Errorf("the flush gave %v", err)
		}
		again, err := ctx.WaitSignal("go", 0)
		if err != nil || again.ID != s.ID {
			return "", fmt.Errorf("the signal is %v, want %v again (%w)", again.ID, s.ID, err)
		}
		if _, err := ctx.Append(user("second")); err != nil {
			return "", err
		}
		f := ctx.Schedule("double", 4)
		if f.Err() != nil {
			return "", f.Err()
		}
		n, err := agent.Await[int](ctx, f)
		return fmt.Sprint(n), err
	})
	b.work()
	id := b.start("a")
	b.signal(id, "go", "1")
	b.output(id, "8")
	if texts := b.texts(id); !slices.Equal(texts, []string{"first", "second"}) {
		t.Errorf("the texts are %q", texts)
	}
}

// TestEndThatIsRefused checks that an execution fails if its last commit is refused. If the
// function returned an error, the execution has that error; otherwise it has the server's error.
func TestEndThatIsRefused(t *testing.T) {
	bad := perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{{Type: perdure.PartToolResult, ToolCallID: "none"}}}}
	b := newBench(t, 60*time.Second)
	b.agent("completes", func(ctx agent.Context) (string, error) { _, err := ctx.Append(bad); return "fine", err })
	b.agent("fails", func(ctx agent.Context) (string, error) { _, _ = ctx.Append(bad); return "", errors.New("no luck") })
	b.work()
	if x := b.ended(b.start("completes"), perdure.StatusFailed); *x.ErrorCode != perdure.InvalidTranscript {
		t.Errorf("the error is %s: %s", *x.ErrorCode, *x.Error)
	}
	if x := b.ended(b.start("fails"), perdure.StatusFailed); *x.Error != "no luck" {
		t.Errorf("the error is %s: %s", *x.ErrorCode, *x.Error)
	}
}

// TestEndCarriesWhatWasAppended checks that entries since the last checkpoint are stored when the
// execution completes or fails.
func TestEndCarriesWhatWasAppended(t *testing.T) {
	b := newBench(t, 60*time.Second)
	said := func(ctx agent.Context, ends error) (string, error) {
		for i, text := range []string{"before", "after"} {
			if _, err := ctx.Append(user(text)); err != nil {
				return "", err
			}
			if i == 0 {
				if err := ctx.Checkpoint(1); err != nil {
					return "", err
				}
			}
		}
		return "fine", ends
	}
	b.agent("completes", func(ctx agent.Context) (string, error) { return said(ctx, nil) })
	b.agent("fails", func(ctx agent.Context) (string, error) { return said(ctx, errors.New("no luck")) })
	b.work()
	for kind, status := range map[string]perdure.Status{"completes": perdure.StatusCompleted, "fails": perdure.StatusFailed} {
		id := b.start(kind)
		b.ended(id, status)
		b.wantTexts(id, "before", "after")
	}
}

func TestOutputThatIsTooLarge(t *testing.T) {
	b := newBench(t, 60*time.Second)
	b.e.PayloadLimit = 1 << 20
	b.agent("a", func(agent.Context) (string, error) { return strings.Repeat("x", 2<<20), nil })
	b.work()
	if x := b.ended(b.start("a"), perdure.StatusFailed); *x.ErrorCode != perdure.PayloadTooLarge {
		t.Errorf("the error is %s: %s", *x.ErrorCode, *x.Error)
	}
}

// TestContentsThatAreNotUTF8 checks that an execution fails with invalid_argument if its output or
// a step's result is not UTF-8.
func TestContentsThatAreNotUTF8(t *testing.T) {
	b := newBench(t, 60*time.Second)
	bad := json.RawMessage("\"a\xff\"")
	b.agents = append(b.agents, agent.DefineFunc("output", func(agent.Context, any) (json.RawMessage, error) { return bad, nil }))
	b.agent("step", func(ctx agent.Context) (string, error) {
		_, err := agent.Step(ctx, "s", func(context.Context) (json.RawMessage, error) { return bad, nil })
		return "fine", err
	})
	b.work()
	for _, kind := range []string{"output", "step"} {
		if x := b.ended(b.start(kind), perdure.StatusFailed); *x.ErrorCode != perdure.InvalidArgument || !strings.Contains(*x.Error, "UTF-8") {
			t.Errorf("the error is %s: %s", *x.ErrorCode, *x.Error)
		}
	}
}
