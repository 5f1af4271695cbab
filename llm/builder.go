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
	open  bool // the last part may still grow
}

// NewBuilder starts an empty response; a nil emit drops the pieces.
func NewBuilder(emit func(Delta) error) *Builder {
	if emit == nil {
		emit = func(Delta) error { return nil }
	}
	return &Builder{emit: emit, parts: []perdure.Part{}}
}

// Text adds to the text part that is open, or begins one.
func (b *Builder) Text(s string) error {
	if s == "" {
		return nil
	}
	i := b.grow(perdure.PartText)
	b.parts[i].Text += s
	return b.emit(Delta{Kind: DeltaText, Part: i, Text: s})
}

// Thinking adds to the thinking part that is open, or begins one.
func (b *Builder) Thinking(s string) error {
	if s == "" {
		return nil
	}
	i := b.grow(perdure.PartThinking)
	b.parts[i].Thinking += s
	return b.emit(Delta{Kind: DeltaThinking, Part: i, Text: s})
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
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartText, Text: text, TextSignature: signature})
	return b.emit(Delta{Kind: DeltaText, Part: len(b.parts) - 1, Text: text})
}

// SignedThinking is SignedText for thinking.
func (b *Builder) SignedThinking(text, signature string) error {
	b.Break()
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartThinking, Thinking: text, ThinkingSignature: signature})
	return b.emit(Delta{Kind: DeltaThinking, Part: len(b.parts) - 1, Text: text})
}

// Redacted adds a thinking part of which only the provider can read data.
func (b *Builder) Redacted(data string) {
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartThinking, Redacted: true, ThinkingSignature: data})
	b.open = false
}

// Break closes the open part: what follows begins another.
func (b *Builder) Break() { b.open = false }

func (b *Builder) grow(t perdure.PartType) int {
	last := len(b.parts) - 1
	if !b.open || last < 0 || b.parts[last].Type != t {
		b.parts = append(b.parts, perdure.Part{Type: t})
		b.open = true
	}
	return len(b.parts) - 1
}

// StartTool begins a tool call and gives the index of its part.
func (b *Builder) StartTool(name, providerID string) (int, error) {
	i := len(b.parts)
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartToolCall, Name: name, ProviderID: providerID})
	b.open = false
	return i, b.emit(Delta{Kind: DeltaToolStart, Part: i, ToolName: name, ProviderID: providerID})
}

// NameTool corrects the provider's id of the call in part i, before its end.
func (b *Builder) NameTool(i int, providerID string) { b.parts[i].ProviderID = providerID }

// ToolArguments adds to the arguments of the call in part i.
func (b *Builder) ToolArguments(i int, s string) error {
	if s == "" {
		return nil
	}
	b.parts[i].RawArguments += s
	return b.emit(Delta{Kind: DeltaToolArguments, Part: i, Text: s})
}

// EndTool ends the call in part i.
func (b *Builder) EndTool(i int) error {
	p := &b.parts[i]
	p.Arguments = argumentsOf(p.RawArguments)
	return b.emit(Delta{Kind: DeltaToolEnd, Part: i, ToolName: p.Name, ProviderID: p.ProviderID})
}

// Parts are the parts so far; never nil.
func (b *Builder) Parts() []perdure.Part { return b.parts }

// Finish makes the response: it fills the cost from prices, and refuses one
// that says nothing. A server that answers with no content and no tokens has
// failed, and taking that for a final answer would end the run.
func (b *Builder) Finish(m Model, stop perdure.StopReason, usage perdure.Usage, prices Prices) (*Response, error) {
	if len(b.parts) == 0 && usage.Output == 0 && stop != perdure.StopRefusal {
		return nil, &Error{
			Kind: EmptyAnswer, Retryable: true, Provider: m.Provider,
			Message: "the model answered with no content and no tokens",
		}
	}
	usage.Calls = 1
	usage.TotalTokens = usage.Input + usage.Output + usage.CacheRead + usage.CacheWrite
	usage.Cost = prices.Cost(m, usage)
	return &Response{Content: perdure.Content{
		Parts: b.parts, Provider: m.Provider, Model: m.ID, Usage: &usage, StopReason: stop,
	}}, nil
}
