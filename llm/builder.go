package llm

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// Builder assembles a response from the stream of a provider. Each method both emits the delta and
// adds it to the parts, so the two cannot differ. Errors: those of emit.
type Builder struct {
	emit  func(Delta) error
	parts []perdure.Part
	grown []*Grown // texts of the parts that came in pieces
	open  bool     // the last part may still grow

	wire   bool   // the texts come from a body read through MarkHalves
	halves joiner // of the last part, while it is open
	failed error  // error of emit that could not be returned at once
}

// NewBuilder creates an empty response. If emit is nil, the deltas are dropped.
func NewBuilder(emit func(Delta) error) *Builder {
	if emit == nil {
		emit = func(Delta) error { return nil }
	}
	return &Builder{emit: emit, parts: []perdure.Part{}}
}

// NewWireBuilder creates an empty response for texts from a body that is read through MarkHalves,
// as Checked returns it. Half of a character at the end of a piece waits for the next piece of the
// same part.
func NewWireBuilder(emit func(Delta) error) *Builder {
	b := NewBuilder(emit)
	b.wire = true
	return b
}

// joined returns a text with the marked halves joined to characters.
func (b *Builder) joined(s string) string {
	if !b.wire {
		return s
	}
	return Joined(s)
}

// join returns the prefix of s that can be added to the open part.
func (b *Builder) join(s string) string {
	if !b.wire {
		return s
	}
	return b.halves.join(s)
}

// send emits a delta, unless an earlier one failed.
func (b *Builder) send(d Delta) error {
	if b.failed == nil {
		b.failed = b.emit(d)
	}
	return b.failed
}

// settle ends the last part. A waiting half of a character has no second half.
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

// Text appends to the open text part, or begins one.
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

// Thinking appends to the open thinking part, or begins one.
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

// Sign sets the signature of the open thinking part. A signature without text is a separate part.
func (b *Builder) Sign(signature string) {
	i := b.grow(perdure.PartThinking)
	b.parts[i].ThinkingSignature += signature
}

// SetSignature is Sign for a signature that every delta repeats.
func (b *Builder) SetSignature(signature string) {
	b.parts[b.grow(perdure.PartThinking)].ThinkingSignature = signature
}

// SetNative stores the provider's own block of the open thinking part.
func (b *Builder) SetNative(block json.RawMessage) {
	b.parts[b.grow(perdure.PartThinking)].Native = block
}

// SignText sets the signature of the open text part. A signature without text is a separate part.
func (b *Builder) SignText(signature string) {
	b.parts[b.grow(perdure.PartText)].TextSignature = signature
}

// SignedText adds a separate text part with its signature. The text may be empty.
func (b *Builder) SignedText(text, signature string) error {
	b.Break()
	text = b.joined(text)
	b.parts = append(b.parts, perdure.Part{Type: perdure.PartText, Text: text, TextSignature: signature})
	return b.send(Delta{Kind: DeltaText, Part: len(b.parts) - 1, Text: text})
}

// SignedThinking adds a separate thinking part with its signature. The text may be empty.
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

// Break closes the open part.
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

// text returns the text of part i, which grows only through pieces.
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

// NameTool sets the provider's id of the call in part i, before its end.
func (b *Builder) NameTool(i int, providerID string) { b.parts[i].ProviderID = providerID }

// ToolArguments appends to the arguments of the call in part i.
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

// Parts returns the parts so far; never nil.
func (b *Builder) Parts() []perdure.Part { return b.parts }

// Finish returns the response with its cost from prices. It refuses an empty response: a server
// that returns no content and no tokens has failed, and accepting that as a final answer would end
// the run.
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
