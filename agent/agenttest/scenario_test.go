package agenttest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/agent/agenttest"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/tool"
)

const month = 30 * 24 * time.Hour

// TestMonthPassesInMilliseconds checks that a sleep of 30 days takes 30 days of virtual time, and
// at most a second more.
func TestMonthPassesInMilliseconds(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{Input: 0, Agent: agent.DefineFunc("sleeper", func(ctx agent.Context, _ int) (string, error) {
		begun, err := agent.Step(ctx, "begin", func(context.Context) (time.Time, error) { return time.Now(), nil })
		if err != nil {
			return "", err
		}
		if err := ctx.Sleep(month); err != nil {
			return "", err
		}
		return time.Since(begun).Round(time.Hour).String(), nil
	})}
	o := agenttest.Run(t, s)
	if string(o.Output) != `"720h0m0s"` || o.Elapsed < month || o.Elapsed > month+time.Second {
		t.Errorf("it gave %s after %s", o.Output, o.Elapsed)
	}
	agenttest.CrashAtEveryCommit(t, s)
}

const script = `
turn
  thinking The user wants the weather.
  text Let me look.
  call weather {"city": "Oslo"}
  call note {"text": "asked for Oslo"}

turn
  expect 7 degrees
  text It is cold in Oslo.
`

func weather(notes *[]string) []tool.Tool {
	type where struct {
		City string `json:"city"`
	}
	type note struct {
		Text string `json:"text"`
	}
	return []tool.Tool{
		tool.New("weather", "Tells the weather.", func(ctx context.Context, _ *tool.Call, in where) (tool.Result, error) {
			select {
			case <-ctx.Done():
				return tool.Result{}, context.Cause(ctx)
			case <-time.After(time.Minute):
			}
			return tool.Text("7 degrees in " + in.City), nil
		}, tool.WithOnLost(perdure.OnLostRetry)),
		tool.New("note", "Takes a note.", func(_ context.Context, _ *tool.Call, in note) (tool.Result, error) {
			*notes = append(*notes, in.Text)
			return tool.Text("noted"), nil
		}),
	}
}

// TestReactAgent checks the react agent with a scripted model and two tools, one of which may run
// twice. The outcome is the same after a crash at any commit, and if calls are delivered twice.
func TestReactAgent(t *testing.T) {
	longtest.Skip(t, "minutes")
	var notes []string
	s := agenttest.Scenario{
		Input: "What is the weather in Oslo?", Model: script,
		Before: func(s *agenttest.Scenario) { notes = nil; s.Tools = weather(&notes) },
	}
	o := agenttest.Run(t, s)
	want := strings.Join([]string{
		"user: What is the weather in Oslo?",
		`assistant: (The user wants the weather.) Let me look. weather({"city": "Oslo"}) note({"text": "asked for Oslo"})`,
		"tool_result: weather = 7 degrees in Oslo",
		"tool_result: note = noted",
		"assistant: It is cold in Oslo.",
		"",
	}, "\n")
	if diff := cmp.Diff(want, o.Text()); diff != "" {
		t.Errorf("the conversation (-want +got):\n%s", diff)
	}
	if o.Status != perdure.StatusCompleted || o.ModelCalls != 2 || o.Ran["weather"] != 1 || len(notes) != 1 {
		t.Errorf("it is %s after %d model calls; the tools ran %v", o.Status, o.ModelCalls, o.Ran)
	}
	agenttest.CrashAtEveryCommit(t, s)
	agenttest.DeliverTwice(t, s)
}

// TestChat checks that a chat continues with the user's message, and waits when there is none. The
// outcome is the same after a crash at any commit.
func TestChat(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{
		Input: "Hi", Chat: true, Model: "turn\ntext Hello.\nturn\nexpect Bye\ntext See you.",
		Signals: []agenttest.Signal{{Name: perdure.UserMessage, Value: map[string]string{"text": "Bye"}}},
	}
	o := agenttest.Run(t, s)
	if want := "user: Hi\nassistant: Hello.\nuser: Bye\nassistant: See you.\n"; o.Text() != want || o.Status != perdure.StatusWaiting {
		t.Errorf("it is %s, and was said:\n%s", o.Status, o.Text())
	}
	agenttest.CrashAtEveryCommit(t, s)
}

// TestExample checks that the example nurse passes.
func TestExample(t *testing.T) {
	longtest.Skip(t, "seconds")
	checkNurse(t)
}

func say(ctx agent.Context, key, text string) error {
	_, err := ctx.Append(perdure.UserText(text), agent.WithKey(key))
	return err
}

// TestFanOut checks an agent with parallel tasks, of which one fails at first and one always fails, and
// with a checkpoint.
func TestFanOut(t *testing.T) {
	longtest.Skip(t, "minutes")
	s := agenttest.Scenario{
		Agent: agent.DefineFunc("fan", func(ctx agent.Context, n int) ([]int, error) {
			var futures []agent.Future
			for i := range n {
				futures = append(futures, ctx.Schedule("double", i))
			}
			got, err := agent.JoinAll[int](ctx, futures...)
			if err != nil {
				return nil, err
			}
			if err := say(ctx, "joined", fmt.Sprint(got)); err != nil {
				return nil, err
			}
			if err := ctx.Checkpoint(1); err != nil {
				return nil, err
			}
			word, err := agent.Call[string](ctx, "flaky", "x")
			if err != nil {
				return nil, err
			}
			_, err = agent.Call[string](ctx, "broken", 1)
			if err == nil {
				return nil, errors.New("broken works")
			}
			return got, say(ctx, "flaky", word+", "+err.Error())
		}),
		Input: 2,
		Tasks: []agent.TaskKind{
			agenttest.Task("double", func(n int) (int, error) { return 2 * n, nil }),
			agenttest.Fails("flaky", 1, errors.New("not yet"), "at last"),
			agenttest.Fails("broken", 1, agent.Permanent(errors.New("never works")), nil),
		},
	}
	o := agenttest.Run(t, s)
	if string(o.Output) != "[0,2]" || o.Ran["double"] != 2 || o.Ran["flaky"] != 2 || o.Ran["broken"] != 1 {
		t.Errorf("it gave %s %s; the tasks ran %v", o.Output, o.Error, o.Ran)
	}
	if scheduled := o.Events[perdure.EventTaskScheduled]; scheduled != 4 || o.Events[perdure.EventEntry] != 2 {
		t.Errorf("the log has %v", o.Events)
	}
	if want := "user: [0 2]\nuser: at last, task_failed: never works\n"; o.Text() != want {
		t.Errorf("it said:\n%s", o.Text())
	}
	agenttest.AllOfSample(t, s)
}

// TestSignals checks signals that are sent before the start, when the agent waits for them, or at a set
// time. It also checks a wait that times out.
func TestSignals(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{
		Agent: agent.DefineFunc("patient", func(ctx agent.Context, _ int) (string, error) {
			for range 3 {
				signal, err := ctx.WaitSignal("word.*", 0)
				if err != nil {
					return "", err
				}
				if err := say(ctx, signal.EntryKey(), string(signal.Value)); err != nil {
					return "", err
				}
			}
			_, err := ctx.WaitSignal("never", 7*24*time.Hour)
			if !errors.Is(err, agent.ErrTimeout) {
				return "", fmt.Errorf("the wait gave %w", err)
			}
			return "timed out", nil
		}),
		Input: 0,
		Signals: []agenttest.Signal{
			{Name: "word.late", Value: 3, After: 48 * time.Hour},
			{Name: "word.asked", Value: 2},
			{Name: "word.early", Value: 1, After: -1},
		},
	}
	o := agenttest.Run(t, s)
	if want := "user: 1\nuser: 2\nuser: 3\n"; o.Text() != want || string(o.Output) != `"timed out"` {
		t.Errorf("it gave %s %s, and said:\n%s", o.Output, o.Error, o.Text())
	}
	if diff := cmp.Diff([]string{"word.early 1", "word.asked 2", "word.late 3"}, o.Signals); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	if week := 9 * 24 * time.Hour; o.Elapsed < week || o.Elapsed > week+time.Minute {
		t.Errorf("it took %s", o.Elapsed)
	}
	agenttest.CrashAtEveryCommit(t, s)
	agenttest.DeliverTwice(t, s)
}

// TestCancelAndOnEnd checks that a cancelled execution has the same outcome in all checked runs,
// and that OnEnd runs once when an execution completes.
func TestCancelAndOnEnd(t *testing.T) {
	var ended []perdure.Status
	s := agenttest.Scenario{
		Agent: agent.DefineFunc("cancelled", func(ctx agent.Context, _ int) (string, error) {
			ctx.OnEnd(func(status perdure.Status) { ended = append(ended, status) })
			if err := say(ctx, "begin", "I begin"); err != nil {
				return "", err
			}
			return agent.Call[string](ctx, "slow", 1)
		}),
		Tasks: []agent.TaskKind{agent.DefineTask("slow", func(ctx agent.TaskContext, _ int) (string, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		})},
		Input: 0, CancelAfter: time.Hour,
		Before: func(*agenttest.Scenario) { ended = nil },
	}
	if o := agenttest.Run(t, s); o.Status != perdure.StatusCancelled || o.Text() != "user: I begin\n" {
		t.Errorf("it is %s, and said:\n%s", o.Status, o.Text())
	}
	agenttest.RunReentered(t, s)
	agenttest.CrashAtEveryCommit(t, s)

	s.CancelAfter, s.Tasks = 0, []agent.TaskKind{agenttest.Result("slow", "done")}
	agenttest.Run(t, s)
	if diff := cmp.Diff([]perdure.Status{perdure.StatusCompleted}, ended); diff != "" {
		t.Errorf("OnEnd (-want +got):\n%s", diff)
	}
}

// TestPanic checks that a panic fails the execution, and that the error is the same with and
// without parked goroutines.
func TestPanic(t *testing.T) {
	s := agenttest.Scenario{Input: 0, Agent: agent.DefineFunc("panicking", func(agent.Context, int) (int, error) { panic("boom") })}
	if o := agenttest.Run(t, s); o.Status != perdure.StatusFailed || !strings.HasPrefix(o.Error, "panic: panic: boom") {
		t.Errorf("it is %s, %q", o.Status, o.Error)
	}
	agenttest.RunReentered(t, s)
}

// TestLargeContent checks that an agent with contents over InlineLimit has the same outcome if
// calls arrive twice or a lease is lost.
func TestLargeContent(t *testing.T) {
	longtest.Skip(t, "minutes")
	large := strings.Repeat("0123456789abcdef", perdure.InlineLimit/16+1)
	s := agenttest.Scenario{
		Agent: agent.DefineFunc("large", func(ctx agent.Context, in string) (string, error) {
			ctx.Stream().Text("here it comes")
			if err := say(ctx, "in", in); err != nil {
				return "", err
			}
			return agent.Call[string](ctx, "echo", in)
		}),
		Input: large,
		Tasks: []agent.TaskKind{agenttest.Task("echo", func(s string) (string, error) { return s, nil })},
	}
	if o := agenttest.Run(t, s); len(o.Output) != len(large)+2 || len(o.Messages) != 1 {
		t.Errorf("it gave %d bytes and %d messages", len(o.Output), len(o.Messages))
	}
	agenttest.DeliverTwice(t, s)
	agenttest.LoseLeaseAtEveryPoint(t, s)
}

// TestDeadlinesAndLongTasks checks an execution with a task that reaches its deadline of ten minutes,
// and a task of three days. The virtual time is the sum of both, rounded to a minute.
func TestDeadlinesAndLongTasks(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := agenttest.Scenario{
		Agent: agent.DefineFunc("long", func(ctx agent.Context, _ int) (string, error) {
			if _, err := agent.Await[int](ctx, ctx.Schedule("slow", 15, agent.Deadline(10*time.Minute))); err == nil {
				return "", errors.New("the deadline did not count")
			}
			_, err := agent.Call[int](ctx, "slow", 3*24*60)
			return "fine", err
		}),
		Input: 0,
		Tasks: []agent.TaskKind{agenttest.Task("slow", func(minutes int) (int, error) {
			time.Sleep(time.Duration(minutes) * time.Minute)
			return minutes, nil
		})},
	}
	o := agenttest.Run(t, s)
	if string(o.Output) != `"fine"` || o.Elapsed.Round(time.Minute) != 10*time.Minute+3*24*time.Hour {
		t.Errorf("it gave %s %s after %s", o.Output, o.Error, o.Elapsed)
	}
}
