package terminal

import (
	"bytes"
	"strings"
	"testing"

	xansi "github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// TestTablesAreAsWideAsTheirContent checks that a table is as wide as its content, even with colors,
// and no wider than the terminal.
func TestTablesAreAsWideAsTheirContent(t *testing.T) {
	source := "| file | **tests** | note |\n|:--|--:|:-:|\n| parse.go | 12 | `x` |\n| a | | 漢字 and more |\n"
	want := ` file     │ tests │      note
──────────┼───────┼───────────────
 parse.go │    12 │       x
 a        │       │ 漢字 and more
`
	for _, colour := range []bool{false, true} {
		var out bytes.Buffer
		p := newPage(NewScreen(&out))
		p.colour = colour
		p.width = func() int { return 70 }
		newProse(p).write(1, source)
		p.section("end")
		if colour && !strings.Contains(out.String(), "\x1b[") {
			t.Error("there is no colour")
		}
		got := xansi.Strip(onScreen(out.String()))
		if diff := cmp.Diff(want, strings.TrimRight(got, "\n")+"\n"); diff != "" {
			t.Errorf("colour %v: %s", colour, diff)
		}
	}
	for line := range strings.SplitSeq(onScreen(proseOn(24, func(w *prose) { w.write(1, source) })), "\n") {
		if wide := xansi.StringWidth(line); wide > 24 {
			t.Errorf("%d columns in a terminal of 24: %q", wide, line)
		}
	}
	code := "```\n| a |\n|---|\n a  ─┼─  b\n```\n"
	if got := onScreen(proseOn(40, func(w *prose) { w.write(1, code) })); !strings.Contains(got, " a  ─┼─  b") {
		t.Errorf("code has changed: %q", got)
	}
}
