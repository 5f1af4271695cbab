package openai

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// Values of the member status of a response.
const (
	statusQueued     = "queued"
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
)

// Response is the response object of OpenAI's API.
type Response struct {
	ID                 string             `json:"id"`
	Object             string             `json:"object"`
	CreatedAt          int64              `json:"created_at"`
	CompletedAt        *int64             `json:"completed_at"`
	Status             string             `json:"status"`
	Background         bool               `json:"background"`
	Conversation       *conversationField `json:"conversation"`
	Error              *responseError     `json:"error"`
	IncompleteDetails  *incompleteDetails `json:"incomplete_details"`
	Instructions       *string            `json:"instructions"`
	MaxOutputTokens    *int               `json:"max_output_tokens"`
	MaxToolCalls       *int               `json:"max_tool_calls"`
	Model              string             `json:"model"`
	Output             []Item             `json:"output"`
	ParallelToolCalls  bool               `json:"parallel_tool_calls"`
	PreviousResponseID *string            `json:"previous_response_id"`
	Reasoning          reasoningField     `json:"reasoning"`
	Store              bool               `json:"store"`
	Temperature        float64            `json:"temperature"`
	Text               textField          `json:"text"`
	ToolChoice         json.RawMessage    `json:"tool_choice"`
	Tools              []functionTool     `json:"tools"`
	TopP               float64            `json:"top_p"`
	TopLogprobs        int                `json:"top_logprobs"`
	PresencePenalty    float64            `json:"presence_penalty"`
	FrequencyPenalty   float64            `json:"frequency_penalty"`
	Truncation         string             `json:"truncation"`
	ServiceTier        string             `json:"service_tier"`
	User               *string            `json:"user,omitempty"`
	SafetyIdentifier   *string            `json:"safety_identifier"`
	PromptCacheKey     *string            `json:"prompt_cache_key"`
	Usage              *usageField        `json:"usage"`
	Metadata           map[string]string  `json:"metadata"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

type reasoningField struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type textField struct {
	Format    formatField `json:"format"`
	Verbosity *string     `json:"verbosity,omitempty"`
}

// formatField is the text format that a create request has set.
type formatField struct {
	Type        string          `json:"type"`
	Name        string          `json:"name,omitempty"`
	Description *string         `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// MarshalJSON encodes only the members that a format of this type has.
func (f formatField) MarshalJSON() ([]byte, error) {
	if f.Type != "json_schema" {
		return json.Marshal(map[string]string{"type": f.Type})
	}
	schema := f.Schema
	if schema == nil {
		schema = json.RawMessage("null")
	}
	return json.Marshal(map[string]any{
		"type": f.Type, "name": f.Name, "description": f.Description, "schema": schema, "strict": f.Strict != nil && *f.Strict,
	})
}

type functionTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
}

type usageField struct {
	InputTokens        int64              `json:"input_tokens"`
	InputTokensDetails inputTokensDetails `json:"input_tokens_details"`
	OutputTokens       int64              `json:"output_tokens"`
	OutputDetails      outputTokenDetails `json:"output_tokens_details"`
	TotalTokens        int64              `json:"total_tokens"`
}

type inputTokensDetails struct {
	CachedTokens int64 `json:"cached_tokens"`
}

type outputTokenDetails struct {
	ReasoningTokens int64 `json:"reasoning_tokens"`
}

// usageOf converts token usage to OpenAI's form, in which tokens read from or written to a cache
// count as input tokens.
func usageOf(u perdure.Usage) *usageField {
	in := u.Input + u.CacheRead + u.CacheWrite
	f := &usageField{
		InputTokens: in, InputTokensDetails: inputTokensDetails{u.CacheRead}, OutputTokens: u.Output, TotalTokens: in + u.Output,
	}
	if u.Reasoning != nil {
		f.OutputDetails.ReasoningTokens = *u.Reasoning
	}
	return f
}
