// Package visible escapes the characters of a text that could deceive its reader.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns the text with escapes in place of the characters that could control a terminal or
// deceive a reader. These are control characters except line ends and tabs, characters that change
// the direction of writing, and invisible ones. (They are Unicode's categories Cc, Cf, Zl and Zp,
// and the characters that Unicode calls default ignorable.) Each becomes a JSON escape like \u202e,
// so the meaning of JSON does not change. A byte that is not UTF-8 becomes U+FFFD.
func Text(text string) string {
	var s Escaper
	return s.Escape(text)
}

// Inline is Text for a text that must stay on one line: it also escapes line ends and tabs.
func Inline(text string) string {
	text = Text(text)
	if !strings.ContainsAny(text, "\n\t") {
		return text
	}
	return strings.NewReplacer("\n", `\u000a`, "\t", `\u0009`).Replace(text)
}

// Escaper does the same as [Text] for a text that arrives in pieces. Each piece consists of whole
// characters. The zero value is ready to use.
type Escaper struct {
	before rune // the last character that was not escaped
}

// Escape returns the next piece of the text, escaped as by [Text].
func (s *Escaper) Escape(text string) string {
	if text == "" {
		return ""
	}
	if Printable(text) {
		s.before = rune(text[len(text)-1])
		return text
	}
	if !strings.ContainsFunc(text, suspect) {
		s.before, _ = utf8.DecodeLastRuneInString(text)
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	for _, r := range text { // a byte that is not UTF-8 is read as U+FFFD
		if s.keeps(r) {
			b.WriteRune(r)
			s.before = r
			continue
		}
		s.before = 0
		escapeRune(&b, r)
	}
	return b.String()
}

// Printable reports whether a text consists of printable ASCII, line ends and tabs. Such a text
// needs no escapes.
func Printable(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c >= 0x7f) && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// suspect reports whether a character may have to be escaped.
func suspect(r rune) bool { return r == utf8.RuneError || !plainRune(r) }

func (s *Escaper) keeps(r rune) bool {
	return plainRune(r) || joiner(r) && joins(s.before)
}

// plainRune reports whether a character is always written unchanged.
func plainRune(r rune) bool {
	switch {
	case r < 0x7f:
		return r >= ' ' || r == '\n' || r == '\t'
	case unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point):
		return false
	case unicode.Is(unicode.Cf, r):
		return unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return true
}

// joiner reports whether r is ZERO WIDTH JOINER or NON-JOINER, which some writing systems and emoji
// need within a word.
func joiner(r rune) bool { return r == 0x200d || r == 0x200c }

// joins reports whether a joiner may follow the character r. After a Latin letter, a joiner could
// hide in a name or a command, so it is escaped.
func joins(r rune) bool { return r > 0x2ff && !joiner(r) }

func escapeRune(b *strings.Builder, r rune) {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}
