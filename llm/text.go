package llm

import "strings"

// GrowingText is a text that arrives in pieces. It does not copy the text so far for each piece, so its
// cost depends only on the length of the text. It must not be copied.
type GrowingText struct{ text strings.Builder }

// Add appends a piece and returns the whole text so far.
func (g *GrowingText) Add(piece string) string {
	g.text.WriteString(piece)
	return g.text.String()
}

// String returns the text so far.
func (g *GrowingText) String() string { return g.text.String() }
