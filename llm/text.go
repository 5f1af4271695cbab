package llm

import "strings"

// GrowingText is a text that arrives in pieces. A new piece is appended without a copy of the text
// before it, so the cost depends only on the length of the text. A GrowingText must not be copied.
type GrowingText struct{ text strings.Builder }

// Add appends a piece and returns the whole text so far.
func (g *GrowingText) Add(piece string) string {
	g.text.WriteString(piece)
	return g.text.String()
}

// String returns the text so far.
func (g *GrowingText) String() string { return g.text.String() }
