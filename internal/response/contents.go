package response

import (
	"slices"
	"strings"
	"unicode"

	"github.com/perdure/perdure"
)

// piece is a content that may still grow. The field grown contains its text, thinking or arguments.
type piece struct {
	Content
	grown strings.Builder
}

// newPiece creates a piece that shares no mutable data with the caller.
func newPiece(c Content) *piece {
	p := &piece{Content: c}
	p.Annotations = slices.Clone(c.Annotations)
	p.Index = nil // the index is only needed to match fragments, which has been done
	p.grown.WriteString(*p.text())
	return p
}

// text returns a pointer to that field of the content that fragments extend: the thinking, the
// arguments or the text.
func (c *Content) text() *string {
	switch c.Part.Type {
	case perdure.PartThinking:
		return &c.Part.Thinking
	case perdure.PartToolCall:
		return &c.Part.RawArguments
	}
	return &c.Part.Text
}

// finished returns the content as it is now.
func (p *piece) finished() Content {
	c := p.Content
	*c.text() = p.grown.String()
	c.Annotations = slices.Clone(c.Annotations)
	return c
}

// add appends a content to the message, or joins it with the last piece. An empty content is
// ignored. The result therefore does not depend on the division of a text into updates.
func (m *message) add(c Content) {
	if isNothing(c) {
		return
	}
	if n := len(m.pieces); n > 0 && m.pieces[n-1].takes(c) {
		last := m.pieces[n-1]
		last.grown.WriteString(*c.text())
		last.Part.ThinkingSignature = c.Part.ThinkingSignature
		return
	}
	m.pieces = append(m.pieces, newPiece(c))
}

// isNothing reports whether a content is empty.
func isNothing(c Content) bool {
	switch c.Part.Type {
	case perdure.PartText, perdure.PartThinking:
		return *c.text() == "" && !c.isWhole()
	case "":
		return c.Failure == nil
	}
	return false
}

// isWhole reports whether the content is a text with annotations, or a text or thinking that has
// ended with a signature or other protected data. Such a content is never joined with another
// content.
func (c *Content) isWhole() bool {
	p := c.Part
	return len(c.Annotations) > 0 || p.TextSignature != "" || p.Native != nil || p.ThinkingSignature != "" || p.Redacted
}

// takes reports whether the content c continues the piece.
func (p *piece) takes(c Content) bool {
	if p.Part.Type != c.Part.Type || p.isWhole() {
		return false
	}
	switch c.Part.Type {
	case perdure.PartText:
		return !c.isWhole()
	case perdure.PartThinking:
		return !c.Part.Redacted && c.Part.Native == nil
	}
	return false
}

// isBlank reports whether the message contains nothing but white space.
func (m *message) isBlank() bool {
	return !slices.ContainsFunc(m.pieces, func(p *piece) bool {
		switch p.Part.Type {
		case perdure.PartText, perdure.PartThinking:
			return p.isWhole() || strings.IndexFunc(p.grown.String(), func(r rune) bool { return !unicode.IsSpace(r) }) >= 0
		}
		return true
	})
}

// once returns the contents without repeated tool calls: of equal calls, the first remains. Two
// calls are the same if their id, name and argument bytes are equal.
func once(contents []Content) []Content {
	type key struct{ id, name, arguments string }
	seen := map[key]bool{}
	return slices.DeleteFunc(contents, func(c Content) bool {
		p := c.Part
		if p.Type != perdure.PartToolCall || p.ID == "" {
			return false
		}
		k := key{p.ID, p.Name, p.RawArguments}
		defer func() { seen[k] = true }()
		return seen[k]
	})
}
