package markdown

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// unbounded renders a complete text with goldmark only, without parts and limits.
func unbounded(t *testing.T, source string) string {
	t.Helper()
	var out bytes.Buffer
	if err := machine.Convert([]byte(source), &out); err != nil {
		t.Fatal(err)
	}
	return policy.Sanitize(out.String())
}

// pieces are lines, and beginnings of lines, that affect where blocks begin and end.
var pieces = []string{
	"\n", "\n", "\n", "\n\n", "\n\n\n", " \n", "\t\n", "\u00a0\n", "\u0085\n", "text", "more **bold", "text", "T", "a | b\n--|--\n", "|a|\n|-|\n", "|a|b|\n|-|-|\n|1|2|\n", "| c |\n", "--|--\n",
	"- a", "- ", "-", "* b", "+ c", "1. one", "2. two", "1) x", "10. ten", "-\n", "1.\n", "-   wide", "-     code", "- - nested", "- > q", "- # h",
	"  ", "   ", "    ", "\t", " ", "      ", ">", "> ", "> q", ">q", "> - l", "> ```\n", "# h", "#", "####### no", "===", "---", "--", "-", "***", "* * *", "- - -", "___", "=",
	"```", "```go", "~~~", "````", "``", "`code", "<div>", "<!-- c", "-->", "<script>", "</script>", "<b>x</b>", "</div>", "<a href='x'>", "<?p", "?>", "<!DOC", ">", "<x-y>", "<span>\n", "<",
	"[a]: /u", "[b]:", "/dest", "'title'", "\"title\n", "[a]", "[c]: <x> 'y'\n", "\\", "&amp;", "http://a.b", "\r\n", "**", "*", "_",
}

func assembled(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(14) {
		b.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(3) > 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// itemDefines matches a link definition in a list item. The tests skip texts with such a
// definition, because goldmark then decides by the line before the list whether the list is loose.
var itemDefines = regexp.MustCompile(`(?m)^[ \t>]*([-+*]|[0-9]+[.)])[^\n]*\[[^\]]*\]:`)

// fragments is the number of random texts that a test renders.
const fragments = 3000

// TestPartsRenderAsGoldmarkDoes checks that the rendering in parts equals goldmark's rendering of
// the whole text, for examples, recorded answers of models, and random texts.
func TestPartsRenderAsGoldmarkDoes(t *testing.T) {
	t.Parallel()
	texts := []string{}
	for _, e := range append(specExamples(t), answers(t)...) {
		texts = append(texts, e.Markdown)
	}
	r := rand.New(rand.NewPCG(7, 11))
	for range fragments {
		texts = append(texts, assembled(r))
	}
	for _, source := range texts {
		if itemDefines.MatchString(source) {
			continue
		}
		if got, want := Render(source), unbounded(t, source); got != want {
			t.Fatalf("%q\nin parts: %q\ngoldmark: %q", source, got, want)
		}
	}
}

// finals writes the chunks to a Buffer and returns the final parts. If r is not nil, it also calls
// Show after random chunks.
func finals(chunks []string, r *rand.Rand) []string {
	var got []string
	b := NewBuffer(func(p Part) {
		if p.Final {
			got = append(got, fmt.Sprintf("%d/%d %s", p.Seq, p.Number, p.HTML))
		}
	})
	for _, c := range chunks {
		b.Write(3, c)
		if r != nil && r.IntN(2) == 0 {
			b.Show()
		}
	}
	b.Flush()
	return got
}

// TestPartsFollowFromTheTextAlone checks that the numbers and the contents of the final parts do
// not depend on the division into chunks, nor on calls of Show.
func TestPartsFollowFromTheTextAlone(t *testing.T) {
	longtest.Skip(t, "seconds")
	t.Parallel()
	texts := []string{
		"\n\nHello\n\nworld", "before\n| a |\n|---|\n| 1 |\n\nafter\n\nend", "[a]: /u\n\n[a]\n\nend", "[a]: /u\n===\n\nx\n\ny", "a\n\u00a0\nb\n\nc",
		strings.Repeat("- a\n\n", 14000), strings.Repeat("word ", 15000), strings.Repeat("- a\n  ```\n", 7000),
	}
	for _, e := range append(specExamples(t), answers(t)...) {
		texts = append(texts, e.Markdown, "\n\n"+e.Markdown)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range fragments {
		texts = append(texts, assembled(r))
	}
	for _, source := range texts {
		want := finals([]string{source}, nil)
		ways := [][]string{strings.SplitAfter(source, "\n"), randomly(source, r)}
		if len(source) < 4<<10 {
			ways = append(ways, bytewise(source))
		}
		for _, chunks := range ways {
			if got := finals(chunks, r); !slices.Equal(got, want) {
				t.Fatalf("%.200q\ngot  %.300q\nwant %.300q", source, got, want)
			}
		}
	}
}

// TestNoBreakSpaceIsNotABlankLine checks that a line with only a no-break space does not end a
// paragraph.
func TestNoBreakSpaceIsNotABlankLine(t *testing.T) {
	t.Parallel()
	for _, space := range []string{"\u00a0", "\u0085", "\u2003"} {
		if got := finals(bytewise("a\n"+space+"\nb\n\nc"), nil); len(got) != 2 || strings.Count(got[0], "<p>") != 1 || !strings.Contains(got[0], "b</p>") {
			t.Errorf("%q: %q", space, got)
		}
	}
}
