// Package react contains the built-in agent. It calls a model, runs the tools that the model calls,
// returns their results to the model, and continues until the model calls no more tools. Then it
// waits for the user, or ends if the run is one-shot.
//
// Every commit that schedules model or tool calls also stores a checkpoint with the ids of their
// tasks. If the function of the agent is entered again, it awaits those tasks and does not schedule
// the calls a second time. So a model call whose answer is stored is never repeated. After a crash,
// a model call without a stored answer is repeated, and a tool call without a stored result is
// repeated if the tool's OnLost allows that.
package react

import (
	"log/slog"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// ModelTask is the kind of the task that calls a model.
const ModelTask = perdure.ModelTaskKind

// Config configures the react agent on a worker.
type Config struct {
	Providers *llm.Providers
	// Tools are the tools that this worker runs. Each tool is a task kind with the name of the
	// tool. An execution can use only the tools that its settings name.
	Tools []tool.Tool
	// Workspaces opens the workspace in the folder that the settings of an execution name. If
	// Workspaces is nil, tools are called without a workspace, and the built-in tools return an
	// error.
	Workspaces func(dir string) (*tool.Workspace, error)
	// Record, if set, is called with each process group that a tool starts. The tool calls the
	// function `forget` when the process group has ended.
	Record func(pgid int) (forget func())
	// Ended, if set, is called with the id of an execution when the agent's function completes for
	// the execution on this worker, before the end is stored. It may be called more than once for
	// an execution.
	Ended func(execution string)
	// Select chooses the model of a turn among the configured models. If Select is nil, the first
	// configured model is used, even if its calls fail. A model that a person has chosen with a
	// [perdure.ModelSignal] takes precedence.
	Select func(t Turn) perdure.ModelConfig
	// Compact are the options of compaction. If they are invalid, Agent panics.
	Compact CompactOptions
	// Logger gets a warning if the prompt of a model call does not begin with the prompt of the
	// previous call, although neither the model nor the settings have changed. The default is
	// slog.Default.
	Logger *slog.Logger
	// Counters, if set, count the work of all executions on this worker.
	Counters *Counters
	// Observer, if set, is called after model and tool calls. Package worker/metrics contains an
	// Observer that counts the calls.
	Observer *Observer
}

// Turn describes a turn to Config.Select.
type Turn struct {
	// Index is the number of earlier model calls of the execution. OfResponse is the number of
	// earlier model calls of the current response. Both begin at 0.
	Index, OfResponse int
	Models            []perdure.ModelConfig
	UsageByModel      map[string]perdure.Usage
}

// Agent returns the definition of the react agent, for Worker.RegisterAgent. It panics if
// Config.Compact is invalid; CompactOptions.Check returns the error.
func Agent(c Config) agent.Definition {
	if err := c.Compact.Check(c.Providers); err != nil {
		panic("react: " + err.Error())
	}
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

// Tasks returns the task kinds of the react agent, for Worker.RegisterTask: the model call and the
// tools.
func Tasks(c Config) []agent.TaskDefinition {
	tasks := []agent.TaskDefinition{modelTask(c)}
	for _, t := range c.Tools {
		tasks = append(tasks, toolTask(c, t))
	}
	return tasks
}
