package llm

import "strings"

// GrowingText is a text that arrives in pieces. Appending a piece does not copy the text before it.
// A GrowingText must not be copied.
type GrowingText struct{ text strings.Builder }

// Add appends a piece and returns the whole text so far.
func (g *GrowingText) Add(piece string) string {
	g.text.WriteString(piece)
	return g.text.String()
}

// String returns the text so far.
func (g *GrowingText) String() string { return g.text.String() }
