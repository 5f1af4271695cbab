package agenttest

import (
	"log/slog"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/tool"
)

// Scenario is one execution, and what the test does to it: signals, answers, a cancellation. The
// checks run it many times, so the results of fake tasks must not depend on an earlier run. The
// function in the field Before can replace fakes that have a state.
type Scenario struct {
	// Agent is the agent to run. If its Run is nil, the react agent runs, and Model is required.
	Agent agent.Definition
	// Input is the input of the agent. For the react agent it is the prompt, a string.
	Input any
	// Tasks are the task kinds that workers run, real or fake. If the agent schedules a task of a
	// kind that is not in this list, the test fails.
	Tasks []agent.TaskKind
	// Model is the script of the react agent's model, in the format of package llm/scripted.
	Model string
	// Models are the scripts of further models, by the id of the model. A signal can choose them.
	Models map[string]string
	// Tools are the tools of the react agent. Their workspace is empty at the beginning of each
	// run.
	Tools []tool.Tool
	// Chat, if set, lets the react agent wait for userMessage signals after a response instead of
	// ending.
	Chat bool
	// Approvals is the policy about tool calls and other tasks. The function in the field Answers
	// answers its questions.
	Approvals perdure.ApprovalPolicy
	// Signals are the signals that the test sends to the execution. Signals with After 0 are sent in
	// the order of the list.
	Signals []Signal
	// Answers returns the answer to a question that the execution waits for, or nil to leave the
	// question open. It is called for each vote that the question needs, and each vote comes from a
	// different voter. An answer with VerdictApprove and a Value replaces the question's details by
	// the value.
	Answers func(q perdure.Question) *perdure.Answer
	// Remember, if set, is called for each approval. It returns the request to remember the approval,
	// or nil for none.
	Remember func(q perdure.Question) *perdure.Remember
	// CancelAfter is the time from the start until the execution is cancelled; 0 means never.
	CancelAfter time.Duration
	// Before, if set, is called before each run with a copy of the scenario. Before may change the
	// copy.
	Before func(s *Scenario)
	// Normalize, if set, removes from an outcome what may differ between runs.
	Normalize func(o *Outcome)
	// MaxVirtual is the maximum virtual time of a run; default 365 days. A run that exceeds it
	// fails the test.
	MaxVirtual time.Duration
	// MaxCommits is the maximum number of commits and ends of attempts in a run; default 1,000. A
	// run that exceeds it fails the test, because the agent probably never ends.
	MaxCommits int
	// Logger receives the logs of server and workers. If it is nil, they are discarded.
	Logger *slog.Logger

	// omit, if set, reports whether the checks leave out the fault f at the write number `at`. Tests
	// of this package set it, to inject faults at a sample of the writes.
	omit func(at int, f fate) bool
}

// Signal is a signal that the test sends to the execution.
type Signal struct {
	Name  string
	Value any
	// After is the time from the start of the execution until the signal is sent. A negative value
	// sends the signal before the agent begins. With 0, the signal is sent once the execution waits for
	// a signal of that name and all earlier signals with After 0 have been sent.
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

// Task returns a fake task of the kind, from a function that needs no context.
func Task[In, Out any](kind string, fn func(in In) (Out, error)) agent.Task[In, Out] {
	return agent.DefineTask(kind, func(_ agent.TaskContext, in In) (Out, error) { return fn(in) })
}

// Result returns a fake task of the kind that returns `value` for every input.
func Result(kind string, value any) agent.Task[any, any] {
	return agent.DefineTask(kind, func(agent.TaskContext, any) (any, error) { return value, nil })
}

// Fails returns a fake task of the kind. It fails with err the given number of times, and then
// returns `value`. Interrupted attempts do not count. If err is Permanent (agent.Permanent), the
// first failure ends the task.
func Fails(kind string, times int, err error, value any) agent.Task[any, any] {
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

// attempt is a TaskContext with the number of earlier attempts that have failed.
type attempt struct {
	agent.TaskContext
	failed int
}
