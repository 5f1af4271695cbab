package terminal

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	xansi "github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

const answer = `# What was wrong

The **parser** dropped the last *token* of a line, so that nothing after a comment was ever read again.

1. it read ` + "`len(line)-1`" + ` where the line has not yet been given its end
2. it should read
   all of it

` + "```go\nfor i := range line {\n\tread(i)\n}\n```" + `

| file | tests |
|---|---:|
| parse.go | 12 |

Done.`

// onScreen returns the final content of a terminal, without erased lines.
func onScreen(written string) string {
	var lines []string
	for line := range strings.SplitSeq(written, "\n") {
		parts := strings.Split(line, EraseLine)
		lines = append(lines, parts[len(parts)-1])
	}
	return strings.Join(lines, "\n")
}

func proseOn(width int, write func(w *prose)) string {
	var out bytes.Buffer
	p := newPage(NewScreen(&out))
	p.width = func() int { return width }
	w := newProse(p)
	write(w)
	p.section("end")
	return out.String()
}

func TestProseIsLaidOut(t *testing.T) {
	got := onScreen(proseOn(40, func(w *prose) { w.write(1, answer) }))
	want := `What was wrong

The parser dropped the last token of a
line, so that nothing after a comment
was ever read again.

1. it read len(line)-1 where the line
   has not yet been given its end
2. it should read all of it

  for i := range line {
  	read(i)
  }

 file     │ tests
──────────┼───────
 parse.go │    12

Done.

`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestProseDoesNotDependOnChunks checks that the final output is equal for every division of a text
// into chunks. Temporary output fits into one line.
func TestProseDoesNotDependOnChunks(t *testing.T) {
	whole := onScreen(proseOn(60, func(w *prose) { w.write(1, answer) }))
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		written := proseOn(60, func(w *prose) {
			for rest := answer; rest != ""; {
				n := min(1+r.IntN(20), len(rest))
				w.write(1, rest[:n])
				rest = rest[n:]
			}
		})
		if diff := cmp.Diff(whole, onScreen(written)); diff != "" {
			t.Fatal(diff)
		}
		for line := range strings.SplitSeq(written, "\n") {
			for _, passing := range strings.Split(line, EraseLine) {
				if w := xansi.StringWidth(passing); w > 60 {
					t.Fatalf("%d columns in a terminal of 60: %q", w, passing)
				}
			}
		}
	}
}

// TestProseEndsWithItsSection checks that output of another section ends the incomplete block and
// appears below it.
func TestProseEndsWithItsSection(t *testing.T) {
	got := onScreen(proseOn(60, func(w *prose) {
		w.write(1, "It looks as if the")
		w.p.section("tools")
		w.p.line(StyleNone, "bash ls")
		w.write(2, "So it is.")
	}))
	want := "It looks as if the\n\nbash ls\n\nSo it is.\n\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
