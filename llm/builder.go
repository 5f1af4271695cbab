package llm

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// Builder makes a response out of what a provider streams: each call both
// emits the piece and adds it to the parts, so that the two cannot differ.
// Errors are those of emit.
type Builder struct {
	emit  func(Delta) error
	parts []perdure.Part
	grown []*Grown // texts of the parts, as far as they came in pieces
	open  bool     // the last part may still grow

	wire   bool   // texts come from a body read through MarkHalves
	halves joiner // of the last part, while it is open
	failed error  // of emit, where it could not be returned at once
}

// NewBuilder starts an empty response; a nil emit drops the pieces.
func NewBuilder(emit func(Delta) error) *Builder {
	if emit == nil {
		emit = func(Delta) error { return nil }
	}
	return &Builder{emit: emit, parts: []perdure.Part{}}
}

// NewWireBuilder starts an empty response out of texts that come from a body read
// through MarkHalves, as Checked returns it. Half of a character at the end of a
// piece waits for the next piece of the same part.
func NewWireBuilder(emit func(Delta) error) *Builder {
	b := NewBuilder(emit)
	b.wire = true
	return b
}

// joined returns a text of a wire with whole characters.
func (b *Builder) joined(s string) string {
	if !b.wire {
		return s
	}
	return Joined(s)
}

// join returns what of s can be added to the open part.
func (b *Builder) join(s string) string {
	if !b.wire {
		return s
	}
	return b.halves.join(s)
}

// send emits a piece, unless an earlier one failed.
func (b *Builder) send(d Delta) error {
	if b.failed == nil {
		b.failed = b.emit(d)
	}
	return b.failed
}

// settle ends the last part: half of a character that waits there has no other.
func (b *Builder) settle() {
	text := b.halves.end()
	if text == "" {
		return
	}
	i := len(b.parts) - 1
	d := Delta{Kind: DeltaText, Part: i, Text: text}
	if b.parts[i].Type == perdure.PartThinking {
		d.Kind = DeltaThinking
		b.parts[i].Thinking = b.text(i).Add(text)
	} else {
		b.parts[i].Text = b.text(i).Add(text)
	}
	_ = b.send(d) // the error is kept for the next call
}

// Text adds to the text part that is open, or begins one.
func (b *Builder) Text(s string) error {
	if s == "" {
		return nil
	}
	i := b.grow(perdure.PartText)
	if s = b.join(s); s == "" {
		return b.failed
	}
	b.parts[i].Text = b.text(i).Add(s)
	return b.send(Delta{Kind: DeltaText, Part: i, Text: s})
}

// Thinking adds to the thinking part that is open, or begins one.
func (b *Builder) Thinking(s string) error {
	if s == "" {
		return nil
	}
	i := b.grow(perdure.PartThinking)
	if s = b.join(s); s == "" {
		return b.failed
	}
	b.parts[i].Thinking = b.text(i).Add(s)
	return b.send(Delta{Kind: DeltaThinking, Part: i, Text: s})
}

// Sign sets the signature of the thinking part that is open; a signature
// without text is a part of its own.
func (b *Builder) Sign(signature string) {
	i := b.grow(perdure.PartThinking)
	b.parts[i].ThinkingSignature += signature
}

// SetSignature is Sign for a signature that is given again with every piece.
func (b *Builder) SetSignature(signature string) {
	b.parts[b.grow(perdure.PartThinking)].ThinkingSignature = signature
}

// SetNative keeps the provider's own block of the thinking part that is open.
func (b *Builder) SetNative(block json.RawMessage) {
	b.parts[b.grow(perdure.PartThinking)].Native = block
}

// SignText sets the signature of the text part that is open; a signature without
// text is a part of its own.
func (b *Builder) SignText(signature string) {
	b.parts[b.grow(perdure.PartText)].TextSignature = signature
}

// SignedText adds a text part of its own, which may be empty, and its signature.
func (b *Builder) SignedText(text, signature string) error {
	b.Break()
	text = b.joined(text)
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartText, Text: text, TextSignature: signature})
	return b.send(Delta{Kind: DeltaText, Part: len(b.parts) - 1, Text: text})
}

// SignedThinking is SignedText for thinking.
func (b *Builder) SignedThinking(text, signature string) error {
	b.Break()
	text = b.joined(text)
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartThinking, Thinking: text, ThinkingSignature: signature})
	return b.send(Delta{Kind: DeltaThinking, Part: len(b.parts) - 1, Text: text})
}

// Redacted adds a thinking part of which only the provider can read data.
func (b *Builder) Redacted(data string) {
	b.Break()
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartThinking, Redacted: true, ThinkingSignature: data})
}

// Break closes the open part: what follows begins another.
func (b *Builder) Break() {
	b.settle()
	b.open = false
}

func (b *Builder) grow(t perdure.PartType) int {
	last := len(b.parts) - 1
	if !b.open || last < 0 || b.parts[last].Type != t {
		b.settle()
		b.parts = append(b.parts, perdure.Part{Type: t})
		b.open = true
	}
	return len(b.parts) - 1
}

// text returns the text of part i, which comes in pieces alone.
func (b *Builder) text(i int) *Grown {
	for len(b.grown) <= i {
		b.grown = append(b.grown, &Grown{})
	}
	return b.grown[i]
}

// StartTool begins a tool call and returns the index of its part.
func (b *Builder) StartTool(name, providerID string) (int, error) {
	b.Break()
	i := len(b.parts)
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartToolCall, Name: name, ProviderID: providerID})
	return i, b.send(Delta{Kind: DeltaToolStart, Part: i, ToolName: name, ProviderID: providerID})
}

// NameTool corrects the provider's id of the call in part i, before its end.
func (b *Builder) NameTool(i int, providerID string) { b.parts[i].ProviderID = providerID }

// ToolArguments adds to the arguments of the call in part i.
func (b *Builder) ToolArguments(i int, s string) error {
	if s == "" {
		return nil
	}
	b.parts[i].RawArguments = b.text(i).Add(s)
	return b.send(Delta{Kind: DeltaToolArguments, Part: i, Text: s})
}

// EndTool ends the call in part i.
func (b *Builder) EndTool(i int) error {
	p := &b.parts[i]
	p.Arguments = argumentsOf(p.RawArguments)
	return b.send(Delta{Kind: DeltaToolEnd, Part: i, ToolName: p.Name, ProviderID: p.ProviderID})
}

// Parts are the parts so far; never nil.
func (b *Builder) Parts() []perdure.Part { return b.parts }

// Finish makes the response: it fills the cost from prices, and refuses one
// that says nothing. A server that answers with no content and no tokens has
// failed, and taking that for a final answer would end the run.
func (b *Builder) Finish(m Model, stop perdure.StopReason, usage perdure.Usage, prices Prices) (*Response, error) {
	b.settle()
	if b.failed != nil {
		return nil, b.failed
	}
	if len(b.parts) == 0 && usage.Output == 0 && stop != perdure.StopRefusal {
		return nil, &Error{
			Kind: EmptyAnswer, Retryable: true, Provider: m.Provider,
			Message: "the model answered with no content and no tokens",
		}
	}
	usage.Calls = 1
	usage.TotalTokens = usage.Input + usage.Output + usage.CacheRead + usage.CacheWrite
	cost := prices.Cost(m, usage)
	if cost != nil {
		usage.Cost = &cost.Total
	}
	return &Response{Content: perdure.Content{
		Parts: b.parts, Provider: m.Provider, Model: m.ID, Usage: &usage, StopReason: stop,
	}, Cost: cost}, nil
}
