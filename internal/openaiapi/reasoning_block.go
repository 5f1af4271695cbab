package openaiapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/sealed"
)

// reasoningBlock is what encrypted_content holds: what a provider has signed of an
// answer, or hidden in it, as it is stored. A client that keeps the conversation itself
// gives it back, so that the provider gets its answer as it made it.
type reasoningBlock struct {
	Answer   uuid.UUID `json:"answer"` // the entry; blocks of one answer belong together
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	// Parts are those that no other item shows in whole, with their places.
	Parts []placedPart `json:"parts,omitempty"`
	// Signatures are of parts that other items show.
	Signatures []signature `json:"signatures,omitempty"`
}

type placedPart struct {
	At   int          `json:"at"`
	Part perdure.Part `json:"part"`
}

// signature is of a call, by its id, or of a text, by its hash.
type signature struct {
	Call      string `json:"call,omitempty"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature"`
}

// sealPurpose keeps blocks from being taken for something else that is sealed.
const sealPurpose = "reasoning"

// box seals for an org.
func (a *API) box(ctx context.Context, org string) (*sealed.Box, error) {
	secret, err := a.Engine.SealingSecret(ctx)
	if err != nil {
		return nil, err
	}
	return sealed.New(secret, org, sealPurpose)
}

// sealedBlocks are the texts of an answer's blocks: of its parts of reasoning, by their
// index, and one more where no part of reasoning is shown that could have it.
type sealedBlocks struct {
	of    map[int]string
	extra string
}

// sealedBlocks seals what a provider has signed or hidden in an answer.
func (f *fold) sealedBlocks(r record, c perdure.Content) sealedBlocks {
	if f.seal == nil || c.Provider == "" {
		return sealedBlocks{}
	}
	b := sealedBlocks{of: map[int]string{}}
	empty := reasoningBlock{Answer: r.EntryID, Provider: c.Provider, Model: c.Model}
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
			continue // it is not shown, and nothing is lost
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

// hidden reports whether a part says nothing to people and something to its provider.
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
		panic(err) // it was read from JSON
	}
	return f.seal(raw)
}

// reasoningBlock shows a block that no reasoning goes with.
func (f *fold) reasoningBlock(r record, encrypted string) {
	g := f.add(Item{Type: itemReasoning, Status: statusInProgress}, r.MessageID)
	g.entry, g.closed, g.Encrypted, g.Status = r.EntryID, true, encrypted, statusCompleted
	f.itemDone(g)
}
