package llm

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure"
)

// ToolSpec describes a tool to the model. Name is sent unchanged; Schema is the JSON Schema of the
// arguments, which are an object.
type ToolSpec struct {
	Name, Description string
	Schema            json.RawMessage
	// Strict says whether the provider must enforce Schema; nil means the provider's default.
	Strict *bool
}

// Thinking is how much a model reasons before it answers. "" means the model's default.
type Thinking string

// ThinkingOff and the constants below it are the levels of Thinking.
const (
	ThinkingOff    Thinking = "off"
	ThinkingLow    Thinking = "low"
	ThinkingMedium Thinking = "medium"
	ThinkingHigh   Thinking = "high"
	ThinkingXHigh  Thinking = "xhigh" // the highest level of the model
)

// On reports whether reasoning is requested at this level.
func (t Thinking) On() bool { return t != "" && t != ThinkingOff }

// PurposeCompaction is the Request.Purpose of a call that requests a summary of the conversation.
const PurposeCompaction = "compaction"

// Request describes one model call.
type Request struct {
	// Model is the id under which the provider knows the model. System is the system prompt.
	Model, System string
	// Purpose is PurposeCompaction, or "" for a turn. It is not sent to the provider's server.
	Purpose string
	// BaseURL and APIKeyEnv select another server than the provider's default. The operator must
	// allow them as a pair (see Endpoints). Empty fields mean the default.
	BaseURL, APIKeyEnv string
	// Messages are the messages to send, from the root to the leaf. They follow the transcript
	// rules. A provider must not change them, because the next call uses the same messages.
	Messages []perdure.Message
	Tools    []ToolSpec
	// MaxTokens limits the output in tokens; 0 means the provider's default.
	MaxTokens   int
	Temperature *float64
	Thinking    Thinking
	// Hints are parameters that a provider omits from its request if the provider or the model does
	// not accept them.
	perdure.Hints
	// The fields below need abilities of the provider (see Able). ToolChoice and ToolName have the same
	// meaning as in perdure.Turns.
	ToolChoice, ToolName string
	ParallelToolCalls    *bool
	Format               *perdure.OutputFormat
}

// Response is the whole answer of a model call. Provider, Model, Usage and StopReason are set.
// Usage.Calls is the number of requests, usually 1; Usage.Cost is set if the price is known. The ID
// of a tool call is empty, because the caller assigns it; ProviderID is the provider's id.
type Response struct {
	perdure.Content
	ProviderResponseID string
	// Cost contains the parts of the cost in Usage.Cost; nil if the price is unknown.
	Cost *Cost
}

// Provider calls the models of one service. It is safe for concurrent use.
type Provider interface {
	// Name returns the name of the provider, as in the names of models: anthropic, openai, ...
	Name() string
	// Stream makes one model call and passes each delta to emit, in order. The result of Fold for
	// these deltas equals the returned parts. Errors: an error of emit, unchanged (such an error
	// ends the call); the error of ctx if ctx ends; permission_denied if the operator does not
	// allow the endpoint; otherwise an *Error.
	Stream(ctx context.Context, req Request, emit func(Delta) error) (*Response, error)
}
