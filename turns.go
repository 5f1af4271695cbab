package perdure

import "encoding/json"

// Turns are the options of a response's turns beyond the agent's configuration.
type Turns struct {
	// ClientTools are run by the client. A call of one ends the response, and the client's next
	// message holds its result.
	ClientTools []ClientTool `json:"clientTools,omitempty"`
	// ToolChoice is auto, none, required or tool; "" is auto. The value tool requires a call of
	// ToolName. ToolChoice applies to the first turn of a response: with required or tool on every
	// turn, a response would never end.
	ToolChoice string `json:"toolChoice,omitempty"`
	ToolName   string `json:"toolName,omitempty"`
	// ParallelToolCalls allows a turn to call several tools; nil means the provider's default.
	ParallelToolCalls *bool `json:"parallelToolCalls,omitempty"`
	// Format is the required format of the text; nil is free text.
	Format *OutputFormat `json:"format,omitempty"`
	// MaxToolCalls limits the calls of tools that run here, over all turns of a response; nil is no
	// limit. A call over the limit gets a result that says so.
	MaxToolCalls *int `json:"maxToolCalls,omitempty"`
	// Compact overrides the compaction settings of the config for this response; "" overrides
	// nothing.
	Compact CompactMode `json:"compact,omitempty"`
	// CompactFrom, if set, compacts a context of this many tokens, or of the size at which it would be
	// compacted anyway if that is less or CompactFrom is 0. The summary then covers the whole
	// conversation, and only messages of the user and the system stay beside it.
	CompactFrom *int `json:"compactFrom,omitempty"`
	Hints
}

// CompactMode says whether a response compacts its conversation.
type CompactMode string

const (
	// CompactNever ends a response whose context the provider refuses as too long. It is not
	// compacted.
	CompactNever CompactMode = "never"
	// CompactOnly compacts the whole conversation in place of an answer, and ends the response.
	CompactOnly CompactMode = "only"
)

// Hints are sent to the provider unchanged if it has the parameter, and are left out if it has not.
type Hints struct {
	// TopP is the probability mass of the tokens that a model samples from, 0 to 1.
	TopP *float64 `json:"topP,omitempty"`
	// User and SafetyIdentifier identify the end user to the provider's abuse detection.
	User             string `json:"user,omitempty"`
	SafetyIdentifier string `json:"safetyIdentifier,omitempty"`
	// PromptCacheKey groups requests that share a prefix.
	PromptCacheKey string `json:"promptCacheKey,omitempty"`
	// Verbosity is low, medium or high.
	Verbosity string `json:"verbosity,omitempty"`
	// ReasoningSummary requests a summary of the reasoning: auto, concise or detailed.
	ReasoningSummary string `json:"reasoningSummary,omitempty"`
}

// The values of Turns.ToolChoice.
const (
	ToolChoiceAuto     = "auto"
	ToolChoiceNone     = "none"
	ToolChoiceRequired = "required"
	ToolChoiceTool     = "tool"
)

// ClientTool describes a tool that the client runs to the model.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // of the arguments
	Strict      *bool           `json:"strict,omitempty"`
}

// OutputFormat is the required format of a model's text: JSON that matches Schema, or any JSON
// object if Schema is nil.
type OutputFormat struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}
