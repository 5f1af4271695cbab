package llm

import "strings"

// Grown is a text that comes in pieces. What is there is not copied for each piece, so
// that a text of many pieces costs as much as a text of few. It must not be copied.
type Grown struct{ text strings.Builder }

// Add adds a piece, and returns the whole text so far.
func (g *Grown) Add(piece string) string {
	g.text.WriteString(piece)
	return g.text.String()
}

// String returns the text so far.
func (g *Grown) String() string { return g.text.String() }
