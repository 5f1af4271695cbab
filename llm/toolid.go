package llm

import (
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// IDRule is what a provider takes as the id of a tool call.
type IDRule = response.IDRule

// The rules of the providers.
var (
	AnthropicIDs  = IDRule{Min: 1}
	OpenAIChatIDs = IDRule{Min: 1, Max: 40}
	// CompatibleIDs are those of servers that speak Chat Completions and are not
	// OpenAI's. They know ids of their own forms, such as Kimi's functions.bash:0.
	CompatibleIDs      = IDRule{Min: 1, Max: 40, Verbatim: true}
	OpenAIResponsesIDs = IDRule{Min: 1, Max: 64}
	GeminiIDs          = IDRule{Min: 1, Max: 64}
	MistralIDs         = IDRule{Min: 9, Max: 9, Alphanumeric: true}
)

// ToolIDs returns the outward id of each tool call in messages, by our own id; see
// [response.ToolIDs].
func ToolIDs(messages []perdure.Message, provider string, rule IDRule) map[string]string {
	return response.ToolIDs(messages, provider, rule)
}

// OutwardArguments is what goes back to a provider as a call's arguments,
// always the text of a JSON object: as received where it is one, {} where there
// was nothing, and otherwise wrapped, because servers refuse a conversation
// whose arguments they cannot parse.
func OutwardArguments(call perdure.Part) string {
	raw := call.RawArguments
	if raw == "" {
		raw = string(call.Arguments)
	}
	if strings.TrimSpace(raw) == "" {
		return "{}"
	}
	if IsObject(raw) {
		return raw
	}
	return `{"invalid_arguments":` + quoteJSON(raw) + `}`
}
