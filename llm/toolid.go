package llm

import (
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// IDRule describes which ids of tool calls a provider accepts.
type IDRule = response.IDRule

// AnthropicIDs and the variables below it are the rules of the providers.
var (
	AnthropicIDs  = IDRule{Min: 1}
	OpenAIChatIDs = IDRule{Min: 1, Max: 40}
	// CompatibleIDs is the rule for compatible servers of Chat Completions. Such servers have ids
	// of various forms, such as Kimi's functions.bash:0.
	CompatibleIDs      = IDRule{Min: 1, Max: 40, Verbatim: true}
	OpenAIResponsesIDs = IDRule{Min: 1, Max: 64}
	GeminiIDs          = IDRule{Min: 1, Max: 64}
	MistralIDs         = IDRule{Min: 9, Max: 9, Alphanumeric: true}
)

// ToolIDs returns, for the id of each tool call in messages, the id that is sent to the provider; see
// [response.ToolIDs].
func ToolIDs(messages []perdure.Message, provider string, rule IDRule) map[string]string {
	return response.ToolIDs(messages, provider, rule)
}

// OutwardArguments returns the arguments of a tool call as they are sent to a provider: the text of
// one JSON object. Arguments that already are a JSON object are unchanged, and blank arguments
// become {}. Any other text becomes the member invalid_arguments of an object, because servers
// refuse arguments that they cannot parse.
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
