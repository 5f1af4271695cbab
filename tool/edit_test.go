package tool

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEditFile(t *testing.T) {
	tests := []struct {
		name, text string
		a          args
		want       string // the file after a valid edit
		says       string
	}{
		{"once", "a\nb\nc\n", args{"oldString": "b", "newString": "B"}, "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c"},
		{"over lines", "a\nb\nc\n", args{"oldString": "b\nc", "newString": "d"}, "a\nd\n", "1 replacement"},
		{"delete", "a\nb\n", args{"oldString": "b\n", "newString": ""}, "a\n", "@@ -1,2 +1,1 @@\n a\n-b"},
		{"all", "x x\nx\n", args{"oldString": "x", "newString": "y", "replaceAll": true}, "y y\ny\n", "3 replacements"},
		{"crlf", "a\r\nb\r\nc\r\n", args{"oldString": "a\nb", "newString": "1\n2"}, "1\r\n2\r\nc\r\n", "-a\n-b\n+1\n+2"},
		{"twice", "x\ny\nx\n", args{"oldString": "x", "newString": "z"}, "", "oldString occurs 2 times (lines 1, 3)"},
		{"overlapping", "aaa", args{"oldString": "aa", "newString": "b"}, "", "oldString occurs 2 times (lines 1, 1)"},
		{"often", strings.Repeat("x\n", 9), args{"oldString": "x", "newString": "z"}, "", "occurs 9 times (lines 1, 2, 3, 4, 5, ...)"},
		{"not there", "a\n", args{"oldString": "q", "newString": "z"}, "", "oldString was not found. No line is like its first line."},
		{"other indentation", "a\n\tif x {\n", args{"oldString": "  if x {\n  y", "newString": "z"}, "", "was not found. Line 2 is like its first line"},
		{"part of a line", "a\nfoo bar\n", args{"oldString": "\nbar\nbaz", "newString": "z"}, "", "Line 2 contains its first line"},
		{"empty", "a\n", args{"oldString": "", "newString": "z"}, "", "oldString is empty"},
		{"same", "a\n", args{"oldString": "a", "newString": "a"}, "", "are the same"},
		{"binary", "a\x00b", args{"oldString": "a", "newString": "b"}, "", "binary file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := plainWorkspace(t, "f", tt.text)
			tt.a["path"] = "f"
			r := use(t, w, "edit-file", tt.a)
			after := tt.want
			if tt.want == "" {
				wantError(t, r, tt.says)
				after = tt.text
			} else {
				wantOK(t, r, tt.says)
			}
			if got := content(t, filepath.Join(w.Dir(), "f")); got != after {
				t.Errorf("the file is %q, want %q", got, after)
			}
		})
	}
	w := plainWorkspace(t)
	wantError(t, use(t, w, "edit-file", args{"path": "gone", "oldString": "a", "newString": "b"}), "Cannot edit gone: it does not exist.")
}

// An edit without replaceAll is applied only if the old text matches at exactly one place.
func FuzzSubstitute(f *testing.F) {
	f.Add("a b a", "a", "c", true)
	f.Add("aaa", "aa", "b", false)
	f.Add("x\r\ny", "x\ny", "z", false)
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		got, n, problem := substitute(text, old, new, all)
		if problem != "" {
			if got != "" {
				t.Fatalf("a problem and a result: %q, %q", problem, got)
			}
			return
		}
		if strings.Contains(text, old) {
			at := strings.Index(text, old)
			switch {
			case all && got != strings.ReplaceAll(text, old, new):
				t.Fatalf("not all are replaced: %q", got)
			case !all && (n != 1 || got != text[:at]+new+text[at+len(old):]):
				t.Fatalf("%d replaced: %q", n, got)
			case !all && strings.Contains(text[at+1:], old):
				t.Fatalf("%q begins at two places in %q", old, text)
			}
		} else if !strings.Contains(text, "\r\n") {
			t.Fatalf("%q is not in %q, but gives %q", old, text, got)
		}
	})
}

// Applying an uncut diff to the old text returns the new text.
func TestDiffTellsTheWholeChange(t *testing.T) {
	lines := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 12), func(l []string) string {
		return strings.Join(append(l, ""), "\n")
	})
	rapid.Check(t, func(t *rapid.T) {
		old, new := lines.Draw(t, "old"), lines.Draw(t, "new")
		d := diff(old, new)
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

// applied returns old with a diff of one hunk applied. The lines that the diff names must be at the
// named position.
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
	d := diff(strings.Repeat("a\n", 100), strings.Repeat("b\n", 100))
	if n := strings.Count(d, "\n"); n != diffLines+1 || !strings.HasSuffix(d, "[140 more lines of the diff left out]") {
		t.Errorf("%d lines: %s", n, d)
	}
}
