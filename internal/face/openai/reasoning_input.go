package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/sealed"
)

// partBlock is the type of a placeholder part for a decrypted block. The function `restored`
// replaces the placeholder by the parts of the block.
const partBlock perdure.PartType = "block"

// opener decrypts the reasoning blocks and summaries in the input of one request.
type opener struct {
	*API
	org     string
	box     *sealed.Box // decrypts reasoning
	summary *sealed.Box // decrypts compactions
}

// open decrypts the block of a reasoning item, if the item has one. The block replaces the item's
// text.
func (o *opener) open(ctx context.Context, i *readItem) (err error) {
	if i.sealed == "" {
		return nil
	}
	if i.compacts {
		return o.openSummary(ctx, i)
	}
	if o.box == nil {
		if o.box, err = o.API.box(ctx, o.org, sealedReasoning); err != nil {
			return err
		}
	}
	raw, err := o.box.Open(i.sealed)
	if err != nil {
		return notOpened(i, err, "Give it back as it came, or leave it out.")
	}
	block := perdure.Part{Type: partBlock, Native: raw}
	for _, m := range i.messages {
		block.Thinking += m.Parts[0].Thinking // only shown to people
	}
	i.messages = []perdure.InputMessage{{Role: perdure.RoleAssistant, Parts: []perdure.Part{block}}}
	return nil
}

// restored returns the messages with each block replaced by the parts in it. The message also gets
// the provider and the model that are named in the block.
func restored(messages []perdure.InputMessage) []perdure.InputMessage {
	var all []perdure.InputMessage
	for _, m := range messages {
		if !slices.ContainsFunc(m.Parts, func(p perdure.Part) bool { return p.Type == partBlock }) {
			all = append(all, m)
			continue
		}
		for _, a := range answersOf(m.Parts) {
			if made := a.message(); len(made.Parts) > 0 {
				all = append(all, made)
			}
		}
	}
	return all
}

// givenAnswer is a message of the model as a client sends it back.
type givenAnswer struct {
	blocks []reasoningBlock
	others []perdure.Part
}

// answersOf splits adjacent assistant parts into the messages of the model that they come from.
// Each block contains the id of its message.
func answersOf(parts []perdure.Part) []givenAnswer {
	all := []givenAnswer{{}}
	for _, p := range parts {
		last := &all[len(all)-1]
		if p.Type != partBlock {
			last.others = append(last.others, p)
			continue
		}
		var b reasoningBlock
		if json.Unmarshal(p.Native, &b) != nil {
			continue // a newer version of the server wrote the block
		}
		if len(last.blocks) > 0 && last.blocks[0].Answer != b.Answer {
			all = append(all, givenAnswer{})
			last = &all[len(all)-1]
		}
		last.blocks = append(last.blocks, b)
	}
	return all
}

// message returns the model's message, with the parts from its blocks at their original indices.
func (a givenAnswer) message() perdure.InputMessage {
	m := perdure.InputMessage{Role: perdure.RoleAssistant, Parts: slices.Clone(a.others)}
	var placed []placedPart
	for _, b := range a.blocks {
		m.Provider, m.Model = b.Provider, b.Model
		placed = append(placed, b.Parts...)
		for _, s := range b.Signatures {
			s.sign(m.Parts)
		}
	}
	slices.SortStableFunc(placed, func(a, b placedPart) int { return cmp.Compare(a.At, b.At) })
	for _, p := range placed {
		m.Parts = slices.Insert(m.Parts, min(p.At, len(m.Parts)), p.Part)
	}
	return m
}

// sign sets the signature on the part that it was made for, if parts contains that part unchanged.
func (s signature) sign(parts []perdure.Part) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == perdure.PartToolCall && s.Call != "" && p.ID == s.Call:
			p.ThinkingSignature = s.Signature
			return
		case p.Type == perdure.PartText && s.Text != "" && p.TextSignature == "" && textSum(p.Text) == s.Text:
			p.TextSignature = s.Signature
			return
		}
	}
}
