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

// Observer is told what the react agent's tasks do on this worker. Its functions
// are called by many goroutines at once, must not block, and may be nil.
type Observer struct {
	// ModelCalled is told of every call of a model, also of one whose answer is
	// then lost: it has been paid for.
	ModelCalled func(ModelCall)
	// ToolCalled is told of every run of a tool.
	ToolCalled func(ToolCall)
}

// ModelCall is one call of a model.
type ModelCall struct {
	Provider, Model string
	Took            time.Duration
	// Usage and its cost are what the provider says; nil where the call failed.
	Usage *perdure.Usage
	// Error is "" for success, "cancelled", or the kind of the failure as llm.Error
	// has it.
	Error string
}

// ToolCall is one run of a tool.
type ToolCall struct {
	Name    string
	Took    time.Duration
	Outcome ToolOutcome
}

// ToolOutcome is how a run of a tool ended.
type ToolOutcome string

const (
	ToolOK        ToolOutcome = "ok"
	ToolError     ToolOutcome = "error"     // the model reads what was wrong
	ToolFailed    ToolOutcome = "failed"    // the surroundings did
	ToolCancelled ToolOutcome = "cancelled" // in the middle
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

// callModel makes the call, under a span of its own, and tells the observer.
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

// failureKind is the kind of a model call's error, one of a few words.
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

// callTool runs the tool, under a span of its own, and tells the observer.
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
