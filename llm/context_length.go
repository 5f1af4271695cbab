package llm

import (
	"net/http"
	"slices"
	"strings"
)

// overWindow describes how a server answers a request that does not fit into the model's context
// window. An answer matches an overWindow if it matches every member that is set.
type overWindow struct {
	// provider is a prefix of the provider's name; "" matches every provider.
	provider string
	status   int
	// code is the code or the type in the error response.
	code string
	// text is a text in lower case. It must occur in the message of the error response.
	text string
}

// overWindows are all known error responses to a request that does not fit into the model's context
// window. The comment at an element names the servers that send it.
var overWindows = []overWindow{
	{code: "context_length_exceeded"},   // OpenAI, and many compatible servers
	{code: "exceed_context_size_error"}, // llama.cpp

	{provider: "anthropic", text: "prompt is too long"},
	{provider: "anthropic", status: http.StatusBadRequest, text: "exceed context limit"}, // the prompt together with max_tokens
	{provider: "anthropic", status: http.StatusBadRequest, text: "input is too long"},    // Bedrock

	{provider: "gemini", status: http.StatusBadRequest, text: "input token count"},

	{provider: "openai", text: "maximum context length"},                                   // OpenAI, vLLM, OpenRouter, Mistral
	{provider: "openai", text: "exceeds the context window"},                               // OpenAI
	{provider: "openai", text: "longer than the maximum model length"},                     // vLLM
	{provider: "openai", status: http.StatusBadRequest, text: "must be at least 1, got -"}, // vLLM
	{provider: "openai", text: "longer than the model's context length"},                   // SGLang
	{provider: "openai", text: "exceeds the available context size"},                       // llama.cpp
	{provider: "openai", text: "exceed context window of"},                                 // llama-cpp-python
	{provider: "openai", text: "greater than the context length"},                          // LM Studio
	{provider: "openai", text: "maximum prompt length"},                                    // xAI

	// A response with this status must also contain one of these texts, because a proxy may use the
	// status for a body with too many bytes. Compaction may not help against such a limit.
	{status: http.StatusRequestEntityTooLarge, text: "prompt"},
	{status: http.StatusRequestEntityTooLarge, text: "token"},
	{status: http.StatusRequestEntityTooLarge, text: "context"},
}

// isOverWindow reports whether an error response says that the request does not fit into the
// model's context window. It returns false for a refused key and for a rate limit.
func isOverWindow(provider string, status int, said errorBody) bool {
	if kind, _ := kindOfStatus(status); kind != InvalidRequest && status != http.StatusInternalServerError {
		return false
	}
	message := strings.ToLower(said.message)
	return slices.ContainsFunc(overWindows, func(w overWindow) bool {
		return strings.HasPrefix(provider, w.provider) && (w.status == 0 || w.status == status) &&
			(w.code == "" || w.code == said.code || w.code == said.kind) && strings.Contains(message, w.text)
	})
}
