package perdure

import "encoding/json"

// Turns is what the turns of a response may be asked for besides the agent's
// configuration.
type Turns struct {
	// ClientTools are run by the client, not here: a call of one ends the
	// response, and the next message brings its result.
	ClientTools []ClientTool `json:"clientTools,omitempty"`
	// ToolChoice is auto, none, required or tool; "" is auto. tool asks for
	// ToolName. It is for the first turn of a response; required and tool would
	// never let it end.
	ToolChoice string `json:"toolChoice,omitempty"`
	ToolName   string `json:"toolName,omitempty"`
	// ParallelToolCalls lets a turn call several tools; nil leaves it to the
	// provider.
	ParallelToolCalls *bool `json:"parallelToolCalls,omitempty"`
	// Format is what the text has to be; nil is free.
	Format *OutputFormat `json:"format,omitempty"`
	// MaxToolCalls bounds the calls of tools that run here, over all turns of one
	// response; nil is no bound. Calls beyond it get a result that says so.
	MaxToolCalls *int `json:"maxToolCalls,omitempty"`
	Hints
}

// Hints go to the provider as they are, where it has them, and are left out where it
// has not.
type Hints struct {
	// TopP is the share of likely tokens that a model samples from, 0 to 1.
	TopP *float64 `json:"topP,omitempty"`
	// User and SafetyIdentifier tell the provider's abuse detection one end user from
	// another.
	User             string `json:"user,omitempty"`
	SafetyIdentifier string `json:"safetyIdentifier,omitempty"`
	// PromptCacheKey brings requests together that share a prefix.
	PromptCacheKey string `json:"promptCacheKey,omitempty"`
	// Verbosity is low, medium or high.
	Verbosity string `json:"verbosity,omitempty"`
	// ReasoningSummary asks for a summary of the reasoning: auto, concise or
	// detailed.
	ReasoningSummary string `json:"reasoningSummary,omitempty"`
}

// The values of Turns.ToolChoice.
const (
	ToolChoiceAuto     = "auto"
	ToolChoiceNone     = "none"
	ToolChoiceRequired = "required"
	ToolChoiceTool     = "tool"
)

// ClientTool tells the model of a tool that the client runs.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // of the arguments
	Strict      *bool           `json:"strict,omitempty"`
}

// OutputFormat is what a model's text has to be: JSON that fits Schema, or any
// JSON object where that is nil.
type OutputFormat struct {
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}
