package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	logfold "github.com/perdure/perdure/internal/log/fold"
	"github.com/perdure/perdure/internal/sealed"
)

// reasoningBlock is the plaintext of the encrypted_content of a reasoning item. It contains those
// parts of a model's message that the provider has signed or encrypted. A client that stores the
// conversation itself sends the block back, so that the provider gets these parts unchanged.
type reasoningBlock struct {
	Answer   uuid.UUID `json:"answer"` // id of the message's entry; all blocks of one message have the same
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	// Parts are the parts of the message that only this block contains, each with its index in the
	// message. The client gets the other parts as readable items.
	Parts []placedPart `json:"parts,omitempty"`
	// Signatures are the provider's signatures of parts that the client gets as readable items.
	Signatures []signature `json:"signatures,omitempty"`
}

type placedPart struct {
	At   int          `json:"at"`
	Part perdure.Part `json:"part"`
}

// signature is a provider's signature of one part of a message. Call is the id of the signed tool
// call, or Text is the hash of the signed text.
type signature struct {
	Call      string `json:"call,omitempty"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature"`
}

// The purposes of encrypted data. Data that was encrypted for one purpose cannot be decrypted for
// another.
const (
	sealedReasoning  = "reasoning"
	sealedCompaction = "compaction"
)

// box returns the box that encrypts data for an org and a purpose.
func (a *API) box(ctx context.Context, org, purpose string) (*sealed.Box, error) {
	secret, err := a.Engine.SealingSecret(ctx)
	if err != nil {
		return nil, err
	}
	return sealed.New(secret, org, purpose)
}

// sealedBlocks are the encrypted blocks of a model's message. Each reasoning part has a block, in
// the field `of` by the index of the part. If the message has no readable reasoning part, its only
// block is the field `extra`.
type sealedBlocks struct {
	of    map[int]string
	extra string
}

// sealedBlocks encrypts the parts of a model's message that the provider signed or encrypted.
func (f *fold) sealedBlocks(entry uuid.UUID, c perdure.Content) sealedBlocks {
	if f.seal == nil || c.Provider == "" {
		return sealedBlocks{}
	}
	b := sealedBlocks{of: map[int]string{}}
	empty := reasoningBlock{Answer: entry, Provider: c.Provider, Model: c.Model}
	rest, first, at := empty, -1, 0
	own := map[int]placedPart{}
	for i, p := range c.Parts {
		switch {
		case p.Type == perdure.PartThinking && p.Thinking != "":
			own[i] = placedPart{at, p}
			if first < 0 {
				first = i
			}
		case hidden(p):
			rest.Parts = append(rest.Parts, placedPart{at, p})
		case p.Type == perdure.PartText && p.TextSignature != "":
			rest.Signatures = append(rest.Signatures, signature{Text: textSum(p.Text), Signature: p.TextSignature})
		case p.Type == perdure.PartToolCall && p.ThinkingSignature != "":
			rest.Signatures = append(rest.Signatures, signature{Call: p.ID, Signature: p.ThinkingSignature})
		case p.Type == perdure.PartText && p.Text == "":
			continue // the client does not see the part, and its block would be empty
		}
		at++
	}
	for i, p := range own {
		block := empty
		if i == first {
			block = rest
		}
		block.Parts = append([]placedPart{p}, block.Parts...)
		b.of[i] = f.sealBlock(block)
	}
	if first < 0 && len(rest.Parts)+len(rest.Signatures) > 0 {
		b.extra = f.sealBlock(rest)
	}
	return b
}

// hidden reports whether a part has no text, but only the provider's signature.
func hidden(p perdure.Part) bool {
	return p.Type == perdure.PartThinking && p.Thinking == "" && p.ThinkingSignature != "" ||
		p.Type == perdure.PartText && p.Text == "" && p.TextSignature != ""
}

func textSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

func (f *fold) sealBlock(b reasoningBlock) string {
	raw, err := json.Marshal(b)
	if err != nil {
		panic(err) // cannot fail: the value was decoded from JSON
	}
	return f.seal(raw)
}

// reasoningBlock adds to the output a reasoning item that has only encrypted_content and no text.
func (f *fold) reasoningBlock(e logfold.Event, encrypted string) {
	g := f.add(Item{Type: itemReasoning, Status: statusInProgress}, e.Record.Place.MessageID)
	g.entry, g.closed, g.Encrypted, g.Status = e.Entry.ID, true, encrypted, statusCompleted
	f.itemDone(g)
}
