package llm

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// Builder assembles a response from the stream of a provider. A method that takes content emits it
// as a delta and adds it to the parts of the response. Errors: those of the function that receives
// the deltas.
type Builder struct {
	emit  func(Delta) error
	parts []perdure.Part
	grown []*GrowingText // text of each part, by the index of the part
	open  bool           // whether the last part may still grow

	wire   bool   // whether texts contain marks of MarkHalves
	halves joiner // joins the texts of the last part while it is open
	failed error  // error of emit; each later call returns it
}

// NewBuilder creates a Builder without content. If emit is nil, deltas are discarded.
func NewBuilder(emit func(Delta) error) *Builder {
	if emit == nil {
		emit = func(Delta) error { return nil }
	}
	return &Builder{emit: emit, parts: []perdure.Part{}}
}

// NewWireBuilder creates a Builder without content, for texts from a response body that was read
// through MarkHalves, such as the body that Checked returns. If a text ends with one half of a
// surrogate pair, the Builder emits this half with the next text of the same part.
func NewWireBuilder(emit func(Delta) error) *Builder {
	b := NewBuilder(emit)
	b.wire = true
	return b
}

// joined returns s, which is a complete text. If MarkHalves has marked halves of surrogate pairs in
// s, joined replaces each pair of halves by its character.
func (b *Builder) joined(s string) string {
	if !b.wire {
		return s
	}
	return Joined(s)
}

// join returns s, the next piece of the open part's text. If MarkHalves has marked halves of
// surrogate pairs in s, join replaces each pair of halves by its character. A first half at the end
// of s is withheld until the next call.
func (b *Builder) join(s string) string {
	if !b.wire {
		return s
	}
	return b.halves.join(s)
}

// send emits a delta. If an earlier call of emit failed, it returns that error instead.
func (b *Builder) send(d Delta) error {
	if b.failed == nil {
		b.failed = b.emit(d)
	}
	return b.failed
}

// settle ends the open part. If a half of a surrogate pair is still withheld, settle adds U+FFFD in
// its place, because the other half did not arrive.
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
	_ = b.send(d) // the next call returns the error
}

// Text appends s to the open text part. If no text part is open, Text begins one.
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

// Thinking appends s to the open thinking part. If no thinking part is open, Thinking begins one.
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

// Sign appends a piece to the signature of the open thinking part. If no thinking part is open,
// Sign begins a thinking part without text.
func (b *Builder) Sign(signature string) {
	i := b.grow(perdure.PartThinking)
	b.parts[i].ThinkingSignature += signature
}

// SetSignature replaces the signature of the open thinking part. It is for a provider that repeats the
// whole signature in each delta.
func (b *Builder) SetSignature(signature string) {
	b.parts[b.grow(perdure.PartThinking)].ThinkingSignature = signature
}

// SetNative stores a content block in the open thinking part. The block is the thinking in the
// provider's own format.
func (b *Builder) SetNative(block json.RawMessage) {
	b.parts[b.grow(perdure.PartThinking)].Native = block
}

// SignText sets the signature of the open text part. If no text part is open, SignText begins one
// without text.
func (b *Builder) SignText(signature string) {
	b.parts[b.grow(perdure.PartText)].TextSignature = signature
}

// SignedText adds a complete text part with its signature. The text may be empty.
func (b *Builder) SignedText(text, signature string) error {
	b.Break()
	text = b.joined(text)
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartText, Text: text, TextSignature: signature})
	return b.send(Delta{Kind: DeltaText, Part: len(b.parts) - 1, Text: text})
}

// SignedThinking adds a complete thinking part with its signature. The text may be empty.
func (b *Builder) SignedThinking(text, signature string) error {
	b.Break()
	text = b.joined(text)
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartThinking, Thinking: text, ThinkingSignature: signature})
	return b.send(Delta{Kind: DeltaThinking, Part: len(b.parts) - 1, Text: text})
}

// Redacted adds a thinking part whose data only the provider can read.
func (b *Builder) Redacted(data string) {
	b.Break()
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartThinking, Redacted: true, ThinkingSignature: data})
}

// Break closes the open part, so that the next text begins a new part.
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

// text returns the buffer for the text of the part with index i.
func (b *Builder) text(i int) *GrowingText {
	for len(b.grown) <= i {
		b.grown = append(b.grown, &GrowingText{})
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

// NameTool sets the provider's id of the tool call in part i. It must be called before EndTool.
func (b *Builder) NameTool(i int, providerID string) { b.parts[i].ProviderID = providerID }

// ToolArguments appends s to the arguments of the tool call in part i.
func (b *Builder) ToolArguments(i int, s string) error {
	if s == "" {
		return nil
	}
	b.parts[i].RawArguments = b.text(i).Add(s)
	return b.send(Delta{Kind: DeltaToolArguments, Part: i, Text: s})
}

// EndTool ends the tool call in part i, and parses its arguments.
func (b *Builder) EndTool(i int) error {
	p := &b.parts[i]
	p.Arguments = argumentsOf(p.RawArguments)
	return b.send(Delta{Kind: DeltaToolEnd, Part: i, ToolName: p.Name, ProviderID: p.ProviderID})
}

// Parts returns the parts received so far. The result is never nil.
func (b *Builder) Parts() []perdure.Part { return b.parts }

// Finish returns the response, with its cost according to prices. If the response has no content
// and no output tokens and is not a refusal, Finish returns an error, because an empty answer would
// end the agent's run. The error has the kind ContextLength if the context window left no room for
// an answer. Otherwise it is retryable and has the kind EmptyAnswer.
func (b *Builder) Finish(m Model, stop perdure.StopReason, usage perdure.Usage, prices Prices) (*Response, error) {
	b.settle()
	if b.failed != nil {
		return nil, b.failed
	}
	nothing := len(b.parts) == 0 && usage.Output == 0
	if nothing && stop == perdure.StopContextLength {
		return nil, &Error{Kind: ContextLength, Provider: m.Provider, Message: "the prompt fills the model's context window"}
	}
	if nothing && stop != perdure.StopRefusal {
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
