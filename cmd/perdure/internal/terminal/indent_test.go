package terminal

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	xansi "github.com/charmbracelet/x/ansi"
)

// narrow returns a page for a terminal of the given width, and the buffer that receives its output.
func narrow(width int) (*page, *bytes.Buffer) {
	var out bytes.Buffer
	p := newPage(NewScreen(&out))
	p.width = func() int { return width }
	return p, &out
}

// TestWrappedLinesKeepTheirGutter checks that each row of a long line has the gutter and fits the
// terminal, even if the text arrives in pieces.
func TestWrappedLinesKeepTheirGutter(t *testing.T) {
	const text = "A long line of many words that is wrapped.\n\n\tand 一行很长的中文文字在终端里换行 end\u202e\nlast"
	for _, width := range []int{12, 20, 80, 120} {
		for _, g := range []gutter{thinkingGutter, outputGutter} {
			for _, size := range []int{1, 7, 1000} {
				p, out := narrow(width)
				for rest := []rune(text); len(rest) > 0; {
					n := min(size, len(rest))
					p.indented(g, StyleDim, string(rest[:n]))
					rest = rest[n:]
				}
				p.newline()
				var got strings.Builder
				for row := range strings.Lines(out.String()) {
					row = strings.TrimSuffix(row, "\n")
					body, ok := strings.CutPrefix(row, g.text)
					if !ok || xansi.StringWidth(row) > width {
						t.Errorf("width %d, pieces of %d: the row %q", width, size, row)
					}
					got.WriteString(body)
				}
				squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
				if want := squeeze(Visible(text)); squeeze(got.String()) != want {
					t.Errorf("width %d, pieces of %d: %q", width, size, out.String())
				}
			}
		}
	}
}

// TestRowsAreBrokenBetweenWords checks that prose is broken between words, and that a tool's output is
// broken where the row is full.
func TestRowsAreBrokenBetweenWords(t *testing.T) {
	p, out := narrow(14)
	p.indented(thinkingGutter, StyleDim, "one two three four\n")
	p.indented(outputGutter, StyleDim, "one two three four\n")
	if want := "┊ one two \n┊ three four\n  │ one two th\n  │ ree four\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestLongOutputIsFolded checks that only the beginning and the end of a long output are shown, for any
// division of the output into pieces.
func TestLongOutputIsFolded(t *testing.T) {
	var all strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&all, "line %d\n", i+1)
	}
	for _, size := range []int{3, 100, 1 << 20} {
		var f folded
		var head strings.Builder
		for rest := all.String() + "open"; rest != ""; {
			n := min(size, len(rest))
			head.WriteString(f.take(rest[:n]))
			rest = rest[n:]
		}
		left, end := f.rest()
		if n := strings.Count(head.String(), "\n"); n != maxOutputHead || left != 1001-maxOutputHead-maxOutputTail || !strings.HasPrefix(end, "line 982\n") || !strings.HasSuffix(end, "line 1000\nopen\n") {
			t.Errorf("pieces of %d: %d lines, %d left out, the end is %q", size, n, left, end)
		}
		if left, end := f.rest(); left != 0 || end != "" {
			t.Errorf("the rest comes again: %d, %q", left, end)
		}
	}
	var short folded
	if got := short.take("one\ntwo"); got != "one\ntwo" || short.lines() != 0 {
		t.Errorf("a short output is %q", got)
	}
}
