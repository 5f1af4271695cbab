package llm

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure"
)

// ToolSpec describes a tool to the model. The name is sent unchanged; Schema is the JSON Schema of
// the arguments (an object).
type ToolSpec struct {
	Name, Description string
	Schema            json.RawMessage
	// Strict sets whether the provider must enforce Schema; nil means the provider's default.
	Strict *bool
}

// Thinking is the amount of reasoning before an answer. "" means the model's default.
type Thinking string

// The levels of Thinking.
const (
	ThinkingOff    Thinking = "off"
	ThinkingLow    Thinking = "low"
	ThinkingMedium Thinking = "medium"
	ThinkingHigh   Thinking = "high"
	ThinkingXHigh  Thinking = "xhigh" // the highest level of the model
)

// On reports whether the level requests reasoning.
func (t Thinking) On() bool { return t != "" && t != ThinkingOff }

// PurposeCompaction is the Request.Purpose of a call that asks for the summary of a conversation.
const PurposeCompaction = "compaction"

// Request is one model call.
type Request struct {
	// Model is the provider's id of the model. System is the system prompt.
	Model, System string
	// Purpose is PurposeCompaction, or "" for a turn. It is not sent to a provider's server.
	Purpose string
	// BaseURL and APIKeyEnv are accepted only if the operator allows exactly that pair (Endpoints).
	// Empty means the default.
	BaseURL, APIKeyEnv string
	// Messages is the path from the root to the leaf, a valid transcript. The next call shares the
	// messages, so a provider must not change them.
	Messages []perdure.Message
	Tools    []ToolSpec
	// MaxTokens limits the output; 0 means the provider's default.
	MaxTokens   int
	Temperature *float64
	Thinking    Thinking
	// Hints are omitted if the provider, or the model, does not accept them.
	perdure.Hints
	// The fields below require abilities of the provider (Able). ToolChoice and ToolName have the
	// meaning of the fields of perdure.Turns.
	ToolChoice, ToolName string
	ParallelToolCalls    *bool
	Format               *perdure.OutputFormat
}

// Response is the whole answer. Provider, Model, Usage and StopReason are set. Usage.Calls is the
// number of requests, usually 1; Usage.Cost is set if the price is known. Tool calls have no ID
// yet, because the caller assigns it; ProviderID is the provider's id.
type Response struct {
	perdure.Content
	ProviderResponseID string
	// Cost is Usage.Cost in parts; nil if the price is unknown.
	Cost *Cost
}

// Provider calls the models of one service. It is safe for concurrent use.
type Provider interface {
	// Name returns the provider's name in the names of models: anthropic, openai, ...
	Name() string
	// Stream makes one model call and passes each delta to emit, in order. Fold of these deltas
	// equals the returned parts. An error of emit ends the call and is returned unchanged. If ctx
	// ends, the error is ctx's. An endpoint that is not allowed is permission_denied. Every other
	// failure is an *Error.
	Stream(ctx context.Context, req Request, emit func(Delta) error) (*Response, error)
}
