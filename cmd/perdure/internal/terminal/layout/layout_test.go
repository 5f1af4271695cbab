package layout

import (
	"regexp"
	"strings"
	"testing"

	xansi "github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestBlocksAreLaidOut checks kinds of blocks and spans that no other test of prose contains.
func TestBlocksAreLaidOut(t *testing.T) {
	for source, want := range map[string]string{
		"> quoted *text* that is longer than a line\n>\n> - item": "│ quoted text that is\n│ longer than a line\n\n│ • item",
		"a\\*b &amp; &lt;c&gt; \\&amp;":                           "a*b & <c> &amp;",
		"[docs](https://example.com)":                             "docs https://example.com",
		"<https://example.com>":                                   "https://example.com",
		"![a cat](cat.png)":                                       "Image: a cat → cat.png",
		"one  \ntwo\nthree":                                       "one\ntwo three",
		"~~gone~~ `a  b`":                                         "gone a  b",
		"* * *":                                                   "────────",
		"<b>\nx\n</b>":                                            "<b>\nx\n</b>",
		"    code\n    more":                                      "  code\n  more",
		"## Second":                                               "Second",
		"&#27;[31mred &#x9b;31m \x1b[2J":                          `\u001b[31mred \u009b31m` + "\n" + `\u001b[2J`,
		"":                                                        "",
	} {
		if diff := cmp.Diff(want, Markdown(source, 24, false)); diff != "" {
			t.Errorf("%q: %s", source, diff)
		}
	}
}

// TestStylesEndWithTheirLine checks that each line ends all styles that it begins. Text that is
// written between two lines then has no style.
func TestStylesEndWithTheirLine(t *testing.T) {
	text := Markdown("**bold *both* and [a link](https://example.com/x) that** goes on `code over lines` here\n\n# Title that is long", 20, true)
	if !strings.Contains(text, "\x1b[1m") || strings.Count(text, "\n") < 5 {
		t.Fatalf("the text has no styles: %q", text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		on := map[string]bool{}
		for _, sequence := range regexp.MustCompile("\x1b\\[([0-9;]*)m").FindAllStringSubmatch(line, -1) {
			for _, code := range strings.Split(sequence[1], ";") {
				switch code {
				case "", "0":
					clear(on)
				case "22":
					delete(on, "1")
				case "23", "24", "29":
					delete(on, code[1:])
				case "39":
					delete(on, "34")
					delete(on, "36")
				default:
					on[code] = true
				}
			}
		}
		if len(on) > 0 {
			t.Errorf("%q ends with %v", line, on)
		}
	}
}

// TestAnyTextIsLaidOut checks that formatting keeps the words of a text, that the result cannot control
// the terminal, and that it fits the width, except for code and for words that are too long.
func TestAnyTextIsLaidOut(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"word", " ", "\n", "\n\n", "- ", "1. ", "> ", "# ", "**", "*", "`", "```\n", "| a | b |\n|---|---|\n", "|", "[x](y)", "![", "](", "<b>", "&#27;",
		"~~", "    ", "\t", "\\", "---\n", "漢字", "\u202e", "\x1b[31m",
	})
	rapid.Check(t, func(t *rapid.T) {
		source := strings.Join(rapid.SliceOfN(piece, 0, 60).Draw(t, "pieces"), "")
		width := rapid.IntRange(10, 80).Draw(t, "width")
		text := Markdown(source, width, rapid.Bool().Draw(t, "colour"))
		plain := xansi.Strip(text)
		if strings.ContainsAny(plain, "\x1b\u202e") {
			t.Fatalf("%q becomes %q", source, text)
		}
		if got, want := strings.Count(plain, "word"), strings.Count(source, "word"); got > want {
			t.Fatalf("%q repeats words: %q", source, plain)
		}
	})
}
