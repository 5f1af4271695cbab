// Package react is the built-in agent. It calls a model, runs the tools that the model calls,
// returns their results to the model, and continues until the model calls no more tools. Then it
// waits for the user, or ends if the run is one-shot.
//
// Every commit that schedules model or tool calls also stores a checkpoint that names their tasks.
// An agent that is entered again awaits those tasks and schedules no others. So a crash, a
// deployment or another choice of model never repeats an answered call. A call that was interrupted
// before its answer was stored is repeated.
package react

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// ModelTask is the kind of the task that calls a model.
const ModelTask = "llm-request"

// Config configures the react agent of a worker.
type Config struct {
	Providers *llm.Providers
	// Tools are the tools that this worker runs. Each is a task kind with the tool's name. An
	// execution may use the tools that it names.
	Tools []tool.Tool
	// Workspaces opens an execution's folder. If it is nil, tools are called without a workspace,
	// and the built-in tools return an error.
	Workspaces func(dir string) (*tool.Workspace, error)
	// Record records process groups that tools start; it may be nil.
	Record func(pgid int) (forget func())
	// Ended is called with the id of an execution that has ended on this worker;
	// may be nil.
	Ended func(execution string)
	// Select chooses the model of a turn among the configured models. By default it is the first
	// one, even if its calls fail.
	Select func(t Turn) perdure.ModelConfig
	// Counters count the work of all executions on this worker; may be nil.
	Counters *Counters
	// Observer observes model and tool calls; may be nil. Package worker/metrics has one that
	// counts.
	Observer *Observer
}

// Turn describes a turn for the choice of its model.
type Turn struct {
	// Index is the number of earlier model calls of the execution, OfResponse that of the running
	// response; both begin at 0.
	Index, OfResponse int
	Models            []perdure.ModelConfig
	UsageByModel      map[string]perdure.Usage
}

// Agent returns the react agent in the form that a worker registers.
func Agent(c Config) agent.Definition {
	d := agent.DefineFunc(perdure.ReactKind, func(ctx agent.Context, in perdure.ReactInput) (perdure.ReactOutput, error) {
		l, err := resume(ctx, c, in)
		if err != nil {
			return perdure.ReactOutput{}, err
		}
		out, err := l.run()
		if err == nil && c.Ended != nil {
			c.Ended(ctx.Execution().ID.String())
		}
		return out, err
	})
	d.Spec.Description = "Answers with a model that can call tools, turn by turn."
	d.Spec.Providers, d.Spec.Endpoints = c.Providers.Names(), c.Providers.Endpoints()
	d.Unless = []string{perdure.UserMessage}
	return d
}

// Tasks returns the task kinds of the react agent: the model call and the tools.
func Tasks(c Config) []agent.TaskDefinition {
	tasks := []agent.TaskDefinition{modelTask(c)}
	for _, t := range c.Tools {
		tasks = append(tasks, toolTask(c, t))
	}
	return tasks
}
