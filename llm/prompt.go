package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/perdure/perdure"
)

// Prompt says what a model call was asked with, so that calls can be compared
// without keeping their prompts. While nothing but new messages is added to a
// conversation, the Prefix of a call is the SHA256 of the call before; where it
// is not, the provider's prompt cache has been missed.
type Prompt struct {
	Messages int `json:"messages"`
	// SHA256 is of system prompt, tools and all messages.
	SHA256 string `json:"sha256"`
	// Prefix is of system prompt, tools and the messages up to and including the
	// last one that the previous call was asked with; "" in the first call.
	Prefix string `json:"prefix,omitempty"`
}

// PromptOf hashes a request. What the previous call was asked with is what stands
// before the last answer.
func PromptOf(r Request) (Prompt, error) {
	p := Prompt{Messages: len(r.Messages)}
	var err error
	if p.SHA256, err = promptHash(r, len(r.Messages)); err != nil {
		return p, err
	}
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == perdure.RoleAssistant {
			p.Prefix, err = promptHash(r, i)
			break
		}
	}
	return p, err
}

// promptHash is of the prompt with its first n messages, as JSON.
func promptHash(r Request, n int) (string, error) {
	h := sha256.New()
	err := json.NewEncoder(h).Encode(struct {
		System   string
		Tools    []ToolSpec
		Messages []perdure.Message
	}{r.System, r.Tools, r.Messages[:n]})
	return hex.EncodeToString(h.Sum(nil)), err
}
