package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"

	"github.com/perdure/perdure"
)

// Prompt contains hashes of the prompt of a model call, so that prompts can be compared without
// storing them. While a conversation only grows, the Prefix of a call equals the SHA256 of the
// previous call. If they differ, the call's prompt does not begin with the whole previous prompt,
// so the provider's prompt cache helps less or not at all.
type Prompt struct {
	Messages int `json:"messages"`
	// SHA256 is the hash of the system prompt, the tools and all messages.
	SHA256 string `json:"sha256"`
	// Prefix is the hash of the system prompt, the tools and the messages before the last answer.
	// These were the prompt of the previous call. Prefix is "" in the first call.
	Prefix string `json:"prefix,omitempty"`
	// Marks are shortened hashes that show where two prompts differ. The first mark covers the
	// system prompt and the tools. Each further mark also covers more messages than the mark
	// before. The number of marks grows with the logarithm of the number of messages.
	Marks string `json:"marks,omitempty"`
}

// PromptOf returns the hashes for a request. It takes the messages before the last assistant message as
// the prompt of the previous call.
func PromptOf(r Request) (Prompt, error) { return new(PromptHash).Of(r, 0) }

// PromptHash hashes the prompts of one conversation. It hashes only the messages that were added
// since the previous prompt. The zero value is ready to use.
type PromptHash struct {
	head   []byte // the JSON before the messages
	sofar  hash.Hash
	n      int    // number of messages in sofar
	prefix string // Prompt.Prefix for the messages in sofar
	marks  []byte // Prompt.Marks for the messages in sofar
	markAt int    // the number of messages after which the next mark follows
}

// Of returns the same as PromptOf(r), but hashes only new messages. The caller guarantees that the
// first `same` messages of r equal those of the request in the previous call of Of.
func (h *PromptHash) Of(r Request, same int) (Prompt, error) {
	p := Prompt{Messages: len(r.Messages)}
	head, err := promptHead(r)
	if err != nil {
		return p, err
	}
	if h.sofar == nil || same < h.n || !bytes.Equal(head, h.head) {
		*h = PromptHash{head: head, sofar: sha256.New()}
		h.sofar.Write(head) // writing to a hash never fails, here and below
		if err := h.mark(); err != nil {
			return p, h.forget(err)
		}
	}
	for _, m := range r.Messages[h.n:] {
		if err := h.add(m); err != nil {
			return p, h.forget(err)
		}
	}
	p.Prefix, p.Marks = h.prefix, string(h.marks)
	if p.SHA256, err = h.sum(); err != nil {
		return p, h.forget(err)
	}
	return p, nil
}

// add adds a message to the hash.
func (h *PromptHash) add(m perdure.Message) (err error) {
	if m.Role == perdure.RoleAssistant {
		if h.prefix, err = h.sum(); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if h.n > 0 {
		h.sofar.Write([]byte(","))
	}
	h.sofar.Write(raw)
	h.n++
	return h.mark()
}

// forget resets h after an error.
func (h *PromptHash) forget(err error) error {
	*h = PromptHash{}
	return err
}

// promptHead returns the JSON of the prompt up to the first message: the system prompt and the tools.
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

// sum returns the hash of the prompt with the messages that were added so far.
func (h *PromptHash) sum() (string, error) {
	whole, err := h.sofar.(hash.Cloner).Clone()
	if err != nil {
		return "", err
	}
	whole.Write([]byte("]}\n"))
	return hex.EncodeToString(whole.Sum(nil)), nil
}
