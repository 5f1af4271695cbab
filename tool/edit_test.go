package tool

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestEditFile(t *testing.T) {
	tests := []struct {
		name, text string
		a          args
		want       string // content of the file after a valid edit
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

// FuzzSubstitute checks that an edit without replaceAll is applied only if the old text occurs at
// exactly one place.
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
