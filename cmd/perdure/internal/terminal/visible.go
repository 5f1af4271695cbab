package terminal

import "github.com/perdure/perdure/internal/visible"

// Visible returns a text in which each character that could control a terminal or deceive a reader
// is escaped: see [visible.Text].
func Visible(text string) string { return visible.Text(text) }

// Inline is Visible for a text that must stay on one line: it also escapes line ends and tabs.
func Inline(text string) string { return visible.Inline(text) }
