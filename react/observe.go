package react

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// Observer observes the react agent's tasks on this worker. Its functions are called concurrently,
// must not block, and may be nil.
type Observer struct {
	// ModelCalled is called for every model call, including a call whose answer is then lost,
	// because it was paid for.
	ModelCalled func(ModelCall)
	// ToolCalled is called for every run of a tool.
	ToolCalled func(ToolCall)
}

// ModelCall is one call of a model.
type ModelCall struct {
	Provider, Model string
	Took            time.Duration
	// Usage and Cost are those that the provider reports; nil if the call failed.
	Usage *perdure.Usage
	// Error is "" for success, "cancelled", or the kind of failure in llm.Error.
	Error string
}

// ToolCall is one run of a tool.
type ToolCall struct {
	Name    string
	Took    time.Duration
	Outcome ToolOutcome
}

// ToolOutcome is the outcome of a tool's run.
type ToolOutcome string

const (
	ToolOK        ToolOutcome = "ok"
	ToolError     ToolOutcome = "error"     // an error that the model reads
	ToolFailed    ToolOutcome = "failed"    // a failure of the environment
	ToolCancelled ToolOutcome = "cancelled" // cancelled while it ran
)

func (o *Observer) modelCalled(c ModelCall) {
	if o != nil && o.ModelCalled != nil {
		o.ModelCalled(c)
	}
}

func (o *Observer) toolCalled(c ToolCall) {
	if o != nil && o.ToolCalled != nil {
		o.ToolCalled(c)
	}
}

// callModel calls the model in its own span and notifies the observer.
func callModel(ctx agent.TaskContext, c Config, p llm.Provider, m perdure.ModelConfig, r llm.Request, show func(llm.Delta) error) (*llm.Response, error) {
	began := time.Now()
	spanned, end := startModelSpan(ctx, m, r)
	answer, err := p.Stream(spanned, r, show)
	call := ModelCall{Provider: m.Provider, Model: m.ModelID, Took: time.Since(began), Error: failureKind(err)}
	if err == nil {
		call.Usage = answer.Usage
	}
	end(answer, call.Error)
	c.Observer.modelCalled(call)
	return answer, err
}

// failureKind returns the kind of a model call's error. The number of kinds is small.
func failureKind(err error) string {
	var failed *llm.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &failed):
		return string(failed.Kind)
	case errors.Is(err, context.Canceled), errors.Is(err, agent.ErrCancelled), errors.Is(err, agent.ErrLeaseLost):
		return "cancelled"
	case perdure.CodeOf(err) != perdure.Internal:
		return string(perdure.CodeOf(err))
	}
	return string(llm.Unknown)
}

// callTool runs the tool in its own span and notifies the observer.
func callTool(ctx agent.TaskContext, c Config, t tool.Tool, call *tool.Call) (tool.Result, error) {
	began := time.Now()
	spanned, end := startToolSpan(ctx, t)
	result, err := t.Run(spanned, call)
	outcome := ToolOK
	switch {
	case err != nil && ctx.Err() != nil:
		outcome = ToolCancelled
	case err != nil:
		outcome = ToolFailed
	case result.IsError:
		outcome = ToolError
	}
	end(outcome)
	c.Observer.toolCalled(ToolCall{Name: t.Name, Took: time.Since(began), Outcome: outcome})
	return result, err
}
