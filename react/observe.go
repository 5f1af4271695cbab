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

// Observer contains functions that a worker calls after the model and tool calls of its react
// agent. The functions are called concurrently and must not block. Each may be nil.
type Observer struct {
	// ModelCalled is called after every model call, because each may cost money. This includes
	// calls that failed, and calls whose answer is lost before it is stored.
	ModelCalled func(ModelCall)
	// ToolCalled is called after every run of a tool.
	ToolCalled func(ToolCall)
}

// ModelCall describes one call of a model.
type ModelCall struct {
	Provider, Model string
	Took            time.Duration
	// Usage is the usage of the call with its cost, as the provider reports them. It is nil if the call
	// failed or the provider reports no usage.
	Usage *perdure.Usage
	// Error is "" for success. Otherwise it is "cancelled", the Kind of an llm.Error, or another
	// error code.
	Error string
}

// ToolCall describes one run of a tool.
type ToolCall struct {
	Name    string
	Took    time.Duration
	Outcome ToolOutcome
}

// ToolOutcome is the outcome of one run of a tool.
type ToolOutcome string

const (
	ToolOK        ToolOutcome = "ok"
	ToolError     ToolOutcome = "error"     // the tool returned an error for the model
	ToolFailed    ToolOutcome = "failed"    // the tool could not do its work, because its environment failed
	ToolCancelled ToolOutcome = "cancelled" // the task was cancelled while the tool ran
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

// callModel calls the model in its own trace span, and then calls the observer.
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

// failureKind returns the value of ModelCall.Error for an error. There are few such values, so that
// a metric can use them as labels.
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

// callTool runs the tool in its own trace span, and then calls the observer.
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
