package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// visible returns a text with everything written out that would steer a terminal or
// deceive who reads it: control characters except line ends and tabs, characters that
// change the direction of writing, and those that take no room (Unicode's categories
// Cc, Cf, Zl and Zp, and what else it says is to be ignored). Each becomes an escape of
// JSON, like \u202e, so JSON means the same afterwards. A byte that is no UTF-8
// becomes U+FFFD.
func visible(text string) string {
	var s shower
	return s.show(text)
}

// inline is visible for a text that has one line.
func inline(text string) string {
	text = visible(text)
	if !strings.ContainsAny(text, "\n\t") {
		return text
	}
	return strings.NewReplacer("\n", `\u000a`, "\t", `\u0009`).Replace(text)
}

// shower makes a text visible that comes in pieces of whole characters.
type shower struct {
	before rune // the last character that was shown as it is
}

func (s *shower) show(text string) string {
	if text == "" {
		return ""
	}
	if printable(text) {
		s.before = rune(text[len(text)-1])
		return text
	}
	if !strings.ContainsFunc(text, suspect) {
		s.before, _ = utf8.DecodeLastRuneInString(text)
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	for _, r := range text { // a byte that is no UTF-8 comes as U+FFFD
		if s.shown(r) {
			b.WriteRune(r)
			s.before = r
			continue
		}
		s.before = 0
		escapeRune(&b, r)
	}
	return b.String()
}

// printable reports whether a text is of printable ASCII, line ends and tabs alone: the
// most frequent case by far, and the one that is quick to find.
func printable(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c >= 0x7f) && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// suspect reports whether a character may have to be written out.
func suspect(r rune) bool { return r == utf8.RuneError || !plainRune(r) }

func (s *shower) shown(r rune) bool {
	return plainRune(r) || joiner(r) && joins(s.before)
}

// plainRune reports whether a character is shown as it is wherever it stands.
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

// joiner reports whether r is ZERO WIDTH JOINER or NON-JOINER, which scripts and emoji
// need within a word.
func joiner(r rune) bool { return r == 0x200d || r == 0x200c }

// joins reports whether a joiner may stand after a character: not after one of the
// Latin letters that names and commands consist of.
func joins(r rune) bool { return r > 0x2ff && !joiner(r) }

func escapeRune(b *strings.Builder, r rune) {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}
