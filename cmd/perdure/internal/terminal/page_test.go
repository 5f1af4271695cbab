package terminal

import (
	"bytes"
	"strings"
	"testing"

	xansi "github.com/charmbracelet/x/ansi"
)

func TestTemporaryLineShowsTheEndOfTheText(t *testing.T) {
	tail := func(text string) string {
		var out bytes.Buffer
		p := newPage(NewScreen(&out))
		p.width = func() int { return 20 }
		p.showTemporary(text)
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
	if end, cut := suffixOf("äöü", 3); end != "ü" || !cut {
		t.Errorf("the last three bytes are %q, %v", end, cut)
	}
}
