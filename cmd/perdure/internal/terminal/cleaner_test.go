package terminal

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCleanerLeavesNoControlCharacters checks that no control sequence remains if the output is split
// into two pieces at any character.
func TestCleanerLeavesNoControlCharacters(t *testing.T) {
	const wild = "a\x1b[1;31mred\x1b[0m \x1b]0;title\x07b\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b(B\x00\x08c\u009b2Jd\r\n50%\r100%\ttab ü\n"
	const want = "ared blink cd\n50%\n100%\ttab ü\n"
	runes := []rune(wild)
	for at := range runes {
		var p cleaner
		if got := p.clean(string(runes[:at])) + p.clean(string(runes[at:])); got != want {
			t.Fatalf("cut at %d: %q, want %q", at, got, want)
		}
	}
}

// TestCleanerOfPlainTextEqualsTheGeneralOne checks that the fast path for plain texts has the same
// output as the general path, and the same effect on later output.
func TestCleanerOfPlainTextEqualsTheGeneralOne(t *testing.T) {
	pieces := rapid.SampledFrom([]string{"a", " b\t", "\n", "\r", "\x1b", "[", "]0;", "m", "\x07", "\x7f", "\u200d", "é", "\u202e", "क", "\U0001f600"})
	rapid.Check(t, func(t *rapid.T) {
		var short, long cleaner
		for _, text := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(pieces, 0, 4).Draw(t, "text"), "")
		}), 1, 6).Draw(t, "texts") {
			if got, want := short.clean(text), long.cleanSlowly(text); got != want {
				t.Fatalf("%q is shown as %q, want %q", text, got, want)
			}
		}
	})
}
