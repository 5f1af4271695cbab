package response

import (
	"slices"
	"strings"
	"unicode"

	"github.com/perdure/perdure"
)

// piece is a content that may still grow. The field `grown` contains its text, thinking or
// arguments.
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

// text returns a pointer to the field of the content to which fragments are appended: the thinking,
// the arguments or the text.
func (c *Content) text() *string {
	switch c.Part.Type {
	case perdure.PartThinking:
		return &c.Part.Thinking
	case perdure.PartToolCall:
		return &c.Part.RawArguments
	}
	return &c.Part.Text
}

// finished returns a copy of the content in its current state.
func (p *piece) finished() Content {
	c := p.Content
	*c.text() = p.grown.String()
	c.Annotations = slices.Clone(c.Annotations)
	return c
}

// add appends a content to the message, or to the last piece if the content continues it. It
// ignores an empty content, so that the result does not depend on how a text was divided into
// updates.
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

// isWhole reports whether a text or thinking is complete: it has annotations, or has ended with a
// signature or other protected data. Such a content is never joined with the next one.
func (c *Content) isWhole() bool {
	p := c.Part
	return len(c.Annotations) > 0 || p.TextSignature != "" || p.Native != nil || p.ThinkingSignature != "" || p.Redacted
}

// takes reports whether a content continues the piece.
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

// once removes repeated tool calls from the contents. Of calls with equal ids, names and argument
// bytes, the first remains.
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
