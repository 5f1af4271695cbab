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

// reasoningBlock is the content of encrypted_content: the parts of an answer that a provider signed
// or encrypted, as stored. A client that stores the conversation itself sends the block back, so
// that the provider gets its answer unchanged.
type reasoningBlock struct {
	Answer   uuid.UUID `json:"answer"` // the id of the entry; blocks of one answer have the same
	Provider string    `json:"provider"`
	Model    string    `json:"model"`
	// Parts are the parts of the answer that the client gets only in this block, each with its
	// index in the answer. Other items show the rest.
	Parts []placedPart `json:"parts,omitempty"`
	// Signatures are the signatures of the parts that other items show in full.
	Signatures []signature `json:"signatures,omitempty"`
}

type placedPart struct {
	At   int          `json:"at"`
	Part perdure.Part `json:"part"`
}

// signature is the signature of a call, identified by its id, or of a text, identified by its hash.
type signature struct {
	Call      string `json:"call,omitempty"`
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature"`
}

// The purposes of sealed data, which prevent one kind from being used as another.
const (
	sealedReasoning  = "reasoning"
	sealedCompaction = "compaction"
)

// box returns the box that seals data for an org and a purpose.
func (a *API) box(ctx context.Context, org, purpose string) (*sealed.Box, error) {
	secret, err := a.Engine.SealingSecret(ctx)
	if err != nil {
		return nil, err
	}
	return sealed.New(secret, org, purpose)
}

// sealedBlocks are the sealed blocks of an answer: one for each reasoning part by its index, and an
// extra block if the answer shows no reasoning part that could hold it.
type sealedBlocks struct {
	of    map[int]string
	extra string
}

// sealedBlocks seals the parts of an answer that a provider signed or encrypted.
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
			continue // it is not shown and contains nothing
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

// hidden reports whether a part has no readable text but a signature for its provider.
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
		panic(err) // it was decoded from JSON
	}
	return f.seal(raw)
}

// reasoningBlock shows a block without a reasoning text.
func (f *fold) reasoningBlock(e logfold.Event, encrypted string) {
	g := f.add(Item{Type: itemReasoning, Status: statusInProgress}, e.Record.Place.MessageID)
	g.entry, g.closed, g.Encrypted, g.Status = e.Entry.ID, true, encrypted, statusCompleted
	f.itemDone(g)
}
