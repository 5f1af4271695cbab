package agenttest

import (
	"log/slog"
	"time"

	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/tool"
)

// Scenario is one execution with everything that happens to it. It runs many times, so the answers
// of its fakes must not depend on state from an earlier run. Before can replace fakes that need a
// fresh state.
type Scenario struct {
	// Agent is the agent to run. Without it, the react agent runs and Model is required.
	Agent agent.Definition
	// Input is the agent's input; for the react agent the prompt, a string.
	Input any
	// Tasks are the task kinds that the agent schedules, real or fake. A kind without a definition
	// fails the test.
	Tasks []agent.TaskDefinition
	// Model is the script that the react agent's model plays, in the format of package
	// llm/scripted.
	Model string
	// Tools are the tools of the react agent. They work in an empty folder.
	Tools []tool.Tool
	// Chat lets the react agent wait for userMessage signals instead of ending.
	Chat bool
	// Signals are sent in this order.
	Signals []Signal
	// CancelAfter is the time from the start to a cancellation of the execution; 0 means never.
	CancelAfter time.Duration
	// Before is called before each run with a copy of the scenario.
	Before func(s *Scenario)
	// Normalize removes from an outcome the differences that are allowed between runs.
	Normalize func(o *Outcome)
	// MaxVirtual is the maximum virtual time of a run; default 365 days.
	MaxVirtual time.Duration
	// MaxCommits is the maximum number of commits of a run, including ends of tasks; default 1,000.
	// It detects an agent that does not end.
	MaxCommits int
	// Logger receives the logs of server and worker; by default they are dropped.
	Logger *slog.Logger
}

// Signal is a message to the execution.
type Signal struct {
	Name  string
	Value any
	// After is the time of sending, from the start. A negative value sends the signal before the
	// agent begins. 0 sends it when the execution waits for its name and every earlier signal with
	// After 0 has been sent.
	After time.Duration
}

func (s Scenario) normal() Scenario {
	if s.MaxVirtual == 0 {
		s.MaxVirtual = 365 * 24 * time.Hour
	}
	if s.MaxCommits == 0 {
		s.MaxCommits = 1000
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if s.Before != nil {
		s.Before(&s)
	}
	return s
}

// Task creates a fake task from a function that needs no context.
func Task[In, Out any](kind string, fn func(in In) (Out, error)) agent.TaskDefinition {
	return agent.DefineTask(kind, func(_ agent.TaskContext, in In) (Out, error) { return fn(in) })
}

// Result creates a fake task that returns value for every input.
func Result(kind string, value any) agent.TaskDefinition {
	return agent.DefineTask(kind, func(agent.TaskContext, any) (any, error) { return value, nil })
}

// Fails creates a fake task that fails with err the given number of times and then returns value.
// An interrupted attempt does not count as a failure. If err is an agent.Permanent error, the first
// failure is final.
func Fails(kind string, times int, err error, value any) agent.TaskDefinition {
	return agent.DefineTask(kind, func(ctx agent.TaskContext, _ any) (any, error) {
		failed := ctx.Task().Attempt - 1
		if a, ok := ctx.(attempt); ok {
			failed = a.failed
		}
		if failed < times {
			return nil, err
		}
		return value, nil
	})
}

// attempt is a task's attempt with the number of failed attempts before it.
type attempt struct {
	agent.TaskContext
	failed int
}
