package llm

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure"
)

// ToolSpec tells the model of a tool: its name goes to the provider unchanged,
// Schema is the JSON Schema of its arguments (an object).
type ToolSpec struct {
	Name, Description string
	Schema            json.RawMessage
	// Strict makes the provider hold the model to Schema; nil leaves it to the
	// provider.
	Strict *bool
}

// Thinking is how much a model may reason before it answers. "" leaves it to
// the model.
type Thinking string

// The levels of Thinking.
const (
	ThinkingOff    Thinking = "off"
	ThinkingLow    Thinking = "low"
	ThinkingMedium Thinking = "medium"
	ThinkingHigh   Thinking = "high"
	ThinkingXHigh  Thinking = "xhigh" // the highest that the model has
)

// On reports whether reasoning is asked for.
func (t Thinking) On() bool { return t != "" && t != ThinkingOff }

// Request is one model call.
type Request struct {
	// Model is the provider's own id of the model.
	Model, System string
	// BaseURL and APIKeyEnv, where a definition gives them, are accepted only if
	// the operator allows that very pair (Endpoints). Empty means the default.
	BaseURL, APIKeyEnv string
	// Messages is the path from the root to the leaf, a valid transcript. The next
	// call shares them: a provider changes nothing of them.
	Messages []perdure.Message
	Tools    []ToolSpec
	// MaxTokens bounds the output; 0 is the provider's default.
	MaxTokens   int
	Temperature *float64
	Thinking    Thinking
	// Hints are left out where the provider, or the model, does not take them.
	perdure.Hints
	// What follows is asked of providers that are Able to. ToolChoice is as
	// perdure.Turns has it, with ToolName.
	ToolChoice, ToolName string
	ParallelToolCalls    *bool
	Format               *perdure.OutputFormat
}

// Response is the whole answer. Provider, Model, Usage (with Calls, the number of
// requests that it took, mostly 1, and Cost where the price is known) and StopReason
// are set. Tool calls have no ID yet: the caller gives them one; ProviderID is what
// the provider called them.
type Response struct {
	perdure.Content
	ProviderResponseID string
	// Cost is Usage.Cost with its parts; nil where the price is not known.
	Cost *Cost
}

// Provider calls the models of one service. It is safe for concurrent use.
type Provider interface {
	// Name is the provider's name as models are written: anthropic, openai, ...
	Name() string
	// Stream makes one model call and gives each piece to emit in order; Fold of
	// these pieces is what the returned parts hold. An error of emit ends the
	// call and is returned as it is. Every failure of the call itself is an
	// *Error, an endpoint that is not allowed is permission_denied, and when ctx
	// ends it is ctx's error.
	Stream(ctx context.Context, req Request, emit func(Delta) error) (*Response, error)
}
