// Package terminaltest checks that printed text cannot control a terminal.
package terminaltest

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Escapes are texts that control a terminal or deceive its reader.
var Escapes = []string{
	"\x1b]52;c;ZXZpbA==\x07", // writes to the clipboard
	"\x1b]0;title\x1b\\",     // sets the window's title
	"\x1b[2J\x1b[H",          // clears the screen
	"\u009b2J", "\u009d0;t\u009c", "\x1bPq\x1b\\", "\x1bc", "\x9b2J", "\xff\xfe",
	"\x00", "\x07", "\x08\x08\x08rm", "\x0b\x0c", "\x0e\x0f", "\x7f", "\u0085",
	"a\u202egnp.exe", "\u202a\u202b\u202c\u202d", "\u2066\u2067\u2068\u2069", "\u200e\u200f\u061c",
	"ad\u200bmin", "a\u200db", "a\u200cb", "\u2060\u2063\ufeff\u00ad\u034f\u180e", "\u115f\u1160\u3164\uffa0",
	"line\u2028separator\u2029", "tag\U000e0001\U000e0041", "\ufff9a\ufffab\ufffb", "\u206a\u206f",
	"\r\x1b[2Kover", "50%\r100%", "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
}

// Unsafe returns the first character in the output that no terminal may receive, -1 if there is
// none. Unsafe shares no code with the functions that it checks.
func Unsafe(printed string) rune {
	before := rune(0)
	for i, r := range printed {
		_, size := utf8.DecodeRuneInString(printed[i:])
		joins := (r == 0x200c || r == 0x200d) && before > 0x2ff && before != 0x200c && before != 0x200d
		switch {
		case r == utf8.RuneError && size == 1:
			return r
		case r == '\n' || r == '\t' || joins:
		case unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point):
			return r
		case unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
			return r
		}
		before = r
	}
	return -1
}

// Outputs returns output functions by name. Each function prints a value to `out`, as JSON or for
// people. Every text field of the value has the content `text`.
type Outputs func(out io.Writer, asJSON bool, text string) map[string]func() error

// Check fails the test if an output contains a text that controls the terminal. It also fails the
// test if an output function prints nothing, unless `mayBeEmpty` contains its name.
func Check(t *testing.T, of Outputs, mayBeEmpty ...string) {
	t.Helper()
	for _, text := range Escapes {
		for _, asJSON := range []bool{false, true} {
			var out bytes.Buffer
			for name, output := range of(&out, asJSON, text) {
				out.Reset()
				if err := output(); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if out.Len() == 0 && !slices.Contains(mayBeEmpty, name) {
					t.Errorf("%s printed nothing", name)
				}
				if r := Unsafe(out.String()); r >= 0 {
					t.Errorf("%s (JSON %t) printed %U of %q: %q", name, asJSON, r, text, out.String())
				}
			}
		}
	}
}
