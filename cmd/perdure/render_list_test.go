package main

import (
	"bytes"
	"strings"
	"testing"

	xansi "github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// The continuation of an item is aligned with its first word: wrapped lines, nested lists,
// paragraphs and code.
func TestItemsHangBelowTheirMarkers(t *testing.T) {
	source := "- one two three four five six seven eight nine\n" +
		"  - nested one two three four five six seven\n" +
		"    1. deeper one two three four five six\n" +
		"- [x] done\n" +
		"\n" +
		"  A second paragraph of it that goes on beyond.\n" +
		"\n" +
		"  ```go\n  x := 1\n  ```\n" +
		"- **last**\n" +
		"\n" +
		"9. nine\n" +
		"10. ten two three four five six seven eight\n"
	got := onScreen(proseOn(30, func(w *prose) { w.write(1, source) }))
	want := `• one two three four five six
  seven eight nine

  • nested one two three four
    five six seven
    1. deeper one two three
       four five six

• [x] done

  A second paragraph of it
  that goes on beyond.

    x := 1

• last

9. nine
10. ten two three four five
    six seven eight

`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	deep := strings.Repeat("- ", 1000) + "end\n"
	if got := proseOn(40, func(w *prose) { w.write(1, deep) }); !strings.Contains(got, "end") {
		t.Error("lists in lists in lists lose their text")
	}
	if got := onScreen(proseOn(40, func(w *prose) { w.write(1, "-\ttab\n\tand on\n") })); got != "• tab and on\n\n" {
		t.Errorf("with tabs the list is %q", got)
	}
}

// A table is as wide as its content, even with colors, and no wider than the terminal.
func TestTablesAreAsWideAsTheirContent(t *testing.T) {
	source := "| file | **tests** | note |\n|:--|--:|:-:|\n| parse.go | 12 | `x` |\n| a | | 漢字 and more |\n"
	want := ` file     │ tests │      note
──────────┼───────┼───────────────
 parse.go │    12 │       x
 a        │       │ 漢字 and more
`
	for _, colour := range []bool{false, true} {
		var out bytes.Buffer
		p := newPage(newScreen(&out))
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

func TestWhatPassesByIsTheEndOfTheText(t *testing.T) {
	tail := func(text string) string {
		var out bytes.Buffer
		p := newPage(newScreen(&out))
		p.width = func() int { return 20 }
		p.tail(text)
		return out.String()
	}
	for text, want := range map[string]string{
		"short":                               "short",
		"":                                    "",
		"a text that is longer than a line":   "…nger than a line",
		strings.Repeat("漢", 1000) + "字 end":   "…漢漢漢漢漢漢字 end",
		strings.Repeat("x ", 500) + "the end": "…x x x x x the end",
		"before" + strings.Repeat(" ", 1000) + "after": "…after",
	} {
		got := tail(text)
		if wide := xansi.StringWidth(got); wide > 17 {
			t.Errorf("%d columns: %q", wide, got)
		}
		if len(text) > 100 && strings.HasPrefix(got, "…") && strings.HasSuffix(want, strings.TrimPrefix(got, "…")) {
			continue
		}
		if got != want {
			t.Errorf("%.40q passes by as %q, not %q", text, got, want)
		}
	}
	if end, cut := lastOf("äöü", 3); end != "ü" || !cut {
		t.Errorf("the last three bytes are %q, %v", end, cut)
	}
}
