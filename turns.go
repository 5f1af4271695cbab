package perdure

import "encoding/json"

// Turns are options for the turns of one response. They are set in addition to the agent's
// configuration.
type Turns struct {
	// ClientTools are tools that the client runs. A call of one of them ends the response, and the
	// client's next message contains the result.
	ClientTools []ClientTool `json:"clientTools,omitempty"`
	// ToolChoice is "auto", "none", "required" or "tool"; "" is "auto". With "tool" the model must
	// call the tool ToolName. ToolChoice applies only to the first turn of a response: with
	// "required" or "tool" on every turn, a response would never end.
	ToolChoice string `json:"toolChoice,omitempty"`
	ToolName   string `json:"toolName,omitempty"`
	// ParallelToolCalls says whether the model may call several tools in one turn; nil means the
	// provider's default.
	ParallelToolCalls *bool `json:"parallelToolCalls,omitempty"`
	// Format is the required format of the model's text; nil means free text.
	Format *OutputFormat `json:"format,omitempty"`
	// MaxToolCalls limits the number of calls of the worker's tools, over all turns of a response; nil
	// means no limit. A call over the limit is not run, and its result says so.
	MaxToolCalls *int `json:"maxToolCalls,omitempty"`
	// Compact overrides the compaction settings of the agent's configuration for this response; ""
	// changes nothing.
	Compact CompactMode `json:"compact,omitempty"`
	// CompactFrom, if set, is the number of tokens from which a context is compacted, even if the
	// configuration turns automatic compaction off. 0, or a number above the threshold of automatic
	// compaction, means that threshold. With CompactFrom, a summary covers the whole conversation:
	// only messages of the user and the system remain beside the summary.
	CompactFrom *int `json:"compactFrom,omitempty"`
	Hints
}

// CompactMode says whether the agent compacts the conversation during a response.
type CompactMode string

const (
	// CompactNever turns compaction off. If the provider refuses the context as too long, the response
	// ends.
	CompactNever CompactMode = "never"
	// CompactOnly compacts the whole conversation, and ends the response without an answer of the
	// model.
	CompactOnly CompactMode = "only"
)

// Hints are parameters of a model call that not every provider has. They are sent unchanged to a
// provider that has them, and left out for other providers.
type Hints struct {
	// TopP restricts sampling to the most likely tokens whose probabilities add up to this value, 0 to
	// 1.
	TopP *float64 `json:"topP,omitempty"`
	// User and SafetyIdentifier identify the end user to the provider's abuse detection.
	User             string `json:"user,omitempty"`
	SafetyIdentifier string `json:"safetyIdentifier,omitempty"`
	// PromptCacheKey is the same for requests that share a prefix, so that the provider caches that
	// prefix.
	PromptCacheKey string `json:"promptCacheKey,omitempty"`
	// Verbosity is the length of the model's text: low, medium or high.
	Verbosity string `json:"verbosity,omitempty"`
	// ReasoningSummary requests a summary of the reasoning: auto, concise or detailed.
	ReasoningSummary string `json:"reasoningSummary,omitempty"`
}

// ToolChoiceAuto and the constants below it are the values of Turns.ToolChoice.
const (
	ToolChoiceAuto     = "auto"
	ToolChoiceNone     = "none"
	ToolChoiceRequired = "required"
	ToolChoiceTool     = "tool"
)

// ClientTool describes, for the model, a tool that the client runs.
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
