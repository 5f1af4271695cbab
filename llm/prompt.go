package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

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
func PromptOf(r Request) (Prompt, error) { return new(PromptHash).Of(r, 0) }

// PromptHash hashes the prompts of one conversation, each of which mostly is the one
// before and a few messages more: what it has hashed it does not go over again. The
// zero value has hashed nothing.
type PromptHash struct {
	head   []byte // what stands before the messages
	sofar  hash.Hash
	n      int    // messages in sofar
	prefix string // Prompt.Prefix of those
}

// Of is PromptOf of a request whose first messages, that many, are those of the last
// call of Of.
func (h *PromptHash) Of(r Request, same int) (Prompt, error) {
	p := Prompt{Messages: len(r.Messages)}
	head, err := promptHead(r)
	if err != nil {
		return p, err
	}
	if h.sofar == nil || same < h.n || !bytes.Equal(head, h.head) {
		h.head, h.sofar, h.n, h.prefix = head, sha256.New(), 0, ""
		h.sofar.Write(head) // a hash never fails, here and below
	}
	for _, m := range r.Messages[h.n:] {
		if m.Role == perdure.RoleAssistant {
			if h.prefix, err = h.sum(); err != nil {
				return p, h.forget(err)
			}
		}
		raw, err := json.Marshal(m)
		if err != nil {
			return p, h.forget(err)
		}
		if h.n > 0 {
			h.sofar.Write([]byte(","))
		}
		h.sofar.Write(raw)
		h.n++
	}
	p.Prefix = h.prefix
	if p.SHA256, err = h.sum(); err != nil {
		return p, h.forget(err)
	}
	return p, nil
}

// forget starts again after an error.
func (h *PromptHash) forget(err error) error {
	*h = PromptHash{}
	return err
}

// promptHead is the JSON of system prompt, tools and messages up to the first message.
func promptHead(r Request) ([]byte, error) {
	head, err := json.Marshal(struct {
		System string
		Tools  []ToolSpec
	}{r.System, r.Tools})
	if err != nil {
		return nil, err
	}
	return append(head[:len(head)-1], `,"Messages":[`...), nil
}

// sum is the hash of the prompt with the messages so far, as a line of JSON.
func (h *PromptHash) sum() (string, error) {
	whole, err := h.sofar.(hash.Cloner).Clone()
	if err != nil {
		return "", err
	}
	whole.Write([]byte("]}\n"))
	return hex.EncodeToString(whole.Sum(nil)), nil
}
