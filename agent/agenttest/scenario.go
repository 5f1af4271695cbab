package agenttest

import (
	"log/slog"
	"time"

	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/tool"
)

// Scenario is one execution with all that is to happen to it. It is run many
// times, so what its fakes remember must not decide what they answer; Before can
// replace those that have to start again.
type Scenario struct {
	// Agent is what is run; without one it is the react agent, and Model needed.
	Agent agent.Definition
	// Input is the agent's; for the react agent the prompt, a string.
	Input any
	// Tasks run the kinds that the agent schedules, real ones or fakes. A kind
	// that nobody runs fails the test.
	Tasks []agent.TaskDefinition
	// Model is the script that the react agent's model plays, as package
	// llm/scripted reads it.
	Model string
	// Tools are those of the react agent. They work in an empty folder.
	Tools []tool.Tool
	// Chat has the react agent wait for userMessage signals where it would end.
	Chat bool
	// Signals are sent in their order.
	Signals []Signal
	// CancelAfter cancels the execution that long after its start; 0 never.
	CancelAfter time.Duration
	// Before is called before each run with a copy of the scenario.
	Before func(s *Scenario)
	// Normalize takes out of an outcome what may differ from run to run.
	Normalize func(o *Outcome)
	// MaxVirtual is how much virtual time a run may take; default 365 days.
	MaxVirtual time.Duration
	// MaxCommits is how many commits, ends of tasks included, a run may make;
	// default 1,000. An agent that makes more does not come to an end.
	MaxCommits int
	// Logger gets what server and worker log; default: nobody.
	Logger *slog.Logger
}

// Signal is a message into the execution.
type Signal struct {
	Name  string
	Value any
	// After is when it is sent, counted from the start; below 0 it is there
	// before the agent begins. 0 sends it once the execution waits for its name
	// and every such signal before it has been sent.
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

// Task creates a fake task of a function that needs no context.
func Task[In, Out any](kind string, fn func(in In) (Out, error)) agent.TaskDefinition {
	return agent.DefineTask(kind, func(_ agent.TaskContext, in In) (Out, error) { return fn(in) })
}

// Result creates a fake task that answers value to every input.
func Result(kind string, value any) agent.TaskDefinition {
	return agent.DefineTask(kind, func(agent.TaskContext, any) (any, error) { return value, nil })
}

// Fails creates a fake task that fails with err so many times, and then answers
// value. An attempt that was cut off is no failure. With an agent.Permanent error
// the first failure is the last.
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

// attempt is a task's attempt that knows how many before it have failed.
type attempt struct {
	agent.TaskContext
	failed int
}
