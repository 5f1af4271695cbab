package excerpt

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDiffTellsTheWholeChange checks that a diff that is not cut, applied to the old text, results
// in the new text.
func TestDiffTellsTheWholeChange(t *testing.T) {
	lines := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12), func(l []string) string {
		return strings.Join(append(l, ""), "\n")
	})
	rapid.Check(t, func(t *rapid.T) {
		old, new := lines.Draw(t, "old"), lines.Draw(t, "new")
		d := Diff(old, new)
		if (d == "") != (old == new) {
			t.Fatalf("diff of %q and %q is %q", old, new, d)
		}
		if d != "" {
			if got := applied(t, old, d); got != new {
				t.Fatalf("from %q to %q, but this leads to %q:\n%s", old, new, got, d)
			}
		}
	})
}

// applied applies a diff of one hunk to the text `old` and returns the new text. It checks that the
// lines in the diff are at the positions that the diff names.
func applied(t *rapid.T, old, d string) string {
	head, body, _ := strings.Cut(d, "\n")
	var from, count, to, now int
	if _, err := fmt.Sscanf(head, "@@ -%d,%d +%d,%d @@", &from, &count, &to, &now); err != nil {
		t.Fatalf("%s: %v", head, err)
	}
	if count > 0 {
		from--
	}
	was, is := "", ""
	for _, line := range strings.Split(body, "\n") {
		if line[0] != '+' {
			was += line[1:] + "\n"
		}
		if line[0] != '-' {
			is += line[1:] + "\n"
		}
	}
	lines := strings.SplitAfter(old, "\n")
	before, found := strings.Join(lines[:from], ""), strings.Join(lines[from:from+count], "")
	if found != was || strings.Count(is, "\n") != now {
		t.Fatalf("%s tells of %q and %d lines, but there is %q:\n%s", head, was, now, found, d)
	}
	return before + is + strings.Join(lines[from+count:], "")
}

func TestLongDiffIsCut(t *testing.T) {
	d := Diff(strings.Repeat("a\n", 100), strings.Repeat("b\n", 100))
	if n := strings.Count(d, "\n"); n != diffLines+1 || !strings.HasSuffix(d, "[140 more lines of the diff left out]") {
		t.Errorf("%d lines: %s", n, d)
	}
}
