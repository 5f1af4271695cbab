// Package react is the built-in agent: it asks a model, runs the tools that the
// model calls, gives it their results, and continues until the model has nothing
// more to call; then it waits for the user, or ends if the run is one-shot.
//
// Everything the loop depends on is stored in the commit that asks for it: the
// checkpoint that goes with a model call or a group of tool calls names their
// tasks. An agent that is entered again awaits those tasks and schedules no others,
// so no crash, deploy or change of the model choice repeats a call that was answered.
// A call that was interrupted before its answer was stored is made again.
package react

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// ModelTask is the kind of the task that calls a model.
const ModelTask = "llm-request"

// Config says what the react agent of a worker works with.
type Config struct {
	Providers *llm.Providers
	// Tools are those that this worker runs; each is a task kind of its name. An
	// execution may use those that it names.
	Tools []tool.Tool
	// Workspaces opens an execution's folder. Without it tools are called without a
	// workspace, and the built-in ones answer that none is configured.
	Workspaces func(dir string) (*tool.Workspace, error)
	// Record notes process groups that tools start; may be nil.
	Record func(pgid int) (forget func())
	// Ended is called with the id of an execution that has ended on this worker;
	// may be nil.
	Ended func(execution string)
	// Select chooses the model of a turn among those configured; default: the
	// first, also where its calls fail.
	Select func(t Turn) perdure.ModelConfig
	// Counters count what all executions on this worker do; may be nil.
	Counters *Counters
	// Observer observes calls of models and tools; may be nil. worker/metrics makes one
	// that counts.
	Observer *Observer
}

// Turn is what a model is chosen by.
type Turn struct {
	// Index counts the execution's model calls, OfResponse those of the running
	// response, both from 0.
	Index, OfResponse int
	Models            []perdure.ModelConfig
	UsageByModel      map[string]perdure.Usage
}

// Agent is the react agent as a worker registers it.
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

// Tasks are the task kinds of the react agent: the model call and the tools.
func Tasks(c Config) []agent.TaskDefinition {
	tasks := []agent.TaskDefinition{modelTask(c)}
	for _, t := range c.Tools {
		tasks = append(tasks, toolTask(c, t))
	}
	return tasks
}
