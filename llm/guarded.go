package llm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm/internal/hide"
)

// Guarded runs the function `call`, which calls a model with an API key. It removes the key from
// everything that `call` returns: the deltas, the response and the error. A provider, or a proxy,
// may repeat the request, with the key, in its output, which is stored and shown to people. If a
// piece of streamed text ends with a prefix of the key, Guarded withholds this prefix until the
// next piece or the end of the part. If emit is nil, deltas are discarded.
func Guarded(key string, emit func(Delta) error, call func(emit func(Delta) error) (*Response, error)) (*Response, error) {
	if PlainKey(key) {
		return call(emit)
	}
	if emit == nil {
		emit = func(Delta) error { return nil }
	}
	g := &guard{hider: hide.New(key), to: emit, parts: map[int]*guardedPart{}, last: -1}
	defer g.repanic()
	resp, err := call(g.emit)
	if flushed := g.flushAll(); err == nil && flushed != nil {
		return nil, flushed
	}
	if err != nil {
		return nil, g.failure(err)
	}
	return g.response(resp), nil
}

// guard removes the key from the deltas of one answer.
type guard struct {
	hider  *hide.Hider
	to     func(Delta) error
	parts  map[int]*guardedPart
	last   int   // index of the text or thinking part that may still grow; -1 for none
	failed error // the first error of the function in the field to
}

// guardedPart is one part of an answer.
type guardedPart struct {
	hider *hide.Hider
	kind  DeltaKind
	text  strings.Builder // text emitted so far
}

func (g *guard) emit(d Delta) error {
	if d.Part != g.last {
		g.flush(g.last)
		g.last = -1
	}
	switch d.Kind {
	case DeltaText, DeltaThinking:
		g.last = d.Part
		return g.grow(d)
	case DeltaToolArguments:
		return g.grow(d)
	case DeltaToolEnd:
		g.flush(d.Part)
	}
	d.ToolName, d.ProviderID = g.hider.Hide(d.ToolName), g.hider.Hide(d.ProviderID)
	return g.send(d)
}

// grow emits the text of a delta. It withholds a suffix of the text that may be the beginning of
// the key.
func (g *guard) grow(d Delta) error {
	p := g.parts[d.Part]
	if p == nil {
		p = &guardedPart{hider: g.hider.Fresh(), kind: d.Kind}
		g.parts[d.Part] = p
	}
	given := d.Text
	d.Text = p.hider.Piece(d.Text)
	if d.Text == "" && given != "" {
		return g.failed
	}
	p.text.WriteString(d.Text)
	return g.send(d)
}

// flush emits the text of an ended part that grow has not emitted yet.
func (g *guard) flush(part int) {
	p := g.parts[part]
	if p == nil {
		return
	}
	text := p.hider.End()
	if text == "" {
		return
	}
	p.text.WriteString(text)
	_ = g.send(Delta{Kind: p.kind, Part: part, Text: text}) // the next call returns the error
}

func (g *guard) flushAll() error {
	for _, part := range slices.Sorted(maps.Keys(g.parts)) {
		g.flush(part)
	}
	return g.failed
}

// send passes a delta to the function `g.to`. If an earlier call of `g.to` failed, send returns the
// error of that call, and does not call `g.to`.
func (g *guard) send(d Delta) error {
	if g.failed == nil {
		g.failed = g.to(d)
	}
	return g.failed
}

// response removes the key from all fields of resp. The text of a part that contained the key
// becomes the emitted text of that part.
func (g *guard) response(resp *Response) *Response {
	if resp == nil {
		return nil
	}
	for i := range resp.Parts {
		g.settle(i, &resp.Parts[i])
	}
	resp.ProviderResponseID = g.hider.Hide(resp.ProviderResponseID)
	return resp
}

func (g *guard) settle(i int, p *perdure.Part) {
	p.Name, p.ProviderID = g.hider.Hide(p.Name), g.hider.Hide(p.ProviderID)
	changed := false
	if said := g.parts[i]; said != nil && said.hider.Hid() {
		changed = true
		g.replace(p, said.text.String())
	}
	// If the text was changed, its signature is no longer valid, and the native block may contain the
	// key in any form. So both are removed.
	for _, signature := range []*string{&p.ThinkingSignature, &p.TextSignature} {
		if changed || g.hider.Shows(*signature) {
			*signature = ""
		}
	}
	if changed || g.hider.Shows(string(p.Native)) {
		p.Native = nil
	}
}

func (g *guard) replace(p *perdure.Part, text string) {
	switch p.Type {
	case perdure.PartText:
		p.Text = text
	case perdure.PartThinking:
		p.Thinking = text
	case perdure.PartToolCall:
		p.RawArguments, p.Arguments = text, argumentsOf(text)
	}
}

// failure returns err without the key. If the text of err, or of an error that it wraps, contains the
// key, failure returns a new *Error that wraps nothing.
func (g *guard) failure(err error) error {
	if !g.hider.Shows(fmt.Sprintf("%v %+v", err, err)) && !g.causes(err) {
		return err
	}
	var said *Error
	if !errors.As(err, &said) {
		return &Error{Kind: Unknown, Message: g.hider.Hide(err.Error())}
	}
	hidden := *said
	hidden.Message, hidden.Err = g.hider.Hide(said.Message), nil
	return &hidden
}

// causes reports whether an error that err wraps contains the key.
func (g *guard) causes(err error) bool {
	for err = errors.Unwrap(err); err != nil; err = errors.Unwrap(err) {
		if g.hider.Shows(err.Error()) {
			return true
		}
	}
	return false
}

// repanic continues a panic of the model call. It removes the key from the value of the panic,
// because panics are logged.
func (g *guard) repanic() {
	cause := recover()
	if cause == nil {
		return
	}
	if text := fmt.Sprint(cause); g.hider.Shows(text) {
		cause = g.hider.Hide(text)
	}
	panic(cause)
}
