package tool

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestGrep(t *testing.T) {
	w := plainWorkspace(t,
		"a.go", "package a\n\nfunc Foo() {}\n", "sub/b.go", "func foo() {}\r\n", "sub/c.txt", "a func\n",
		".git/x.go", "func", "node_modules/x.go", "func", "bin", "func\x00", "wide", strings.Repeat("é", 400)+"func\n",
		"many", strings.Repeat("match\n", 300))
	grep := func(a args) string { return use(t, w, "grep", a).PlainText() }
	if got, want := grep(args{"pattern": `^func \w+`}), "a.go:3:func Foo() {}\nsub/b.go:1:func foo() {}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := grep(args{"pattern": "(?i)FOO", "glob": "*.go", "path": "sub"}), "sub/b.go:1:func foo() {}\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := grep(args{"pattern": "func", "path": "sub/c.txt"}), "sub/c.txt:1:a func\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := grep(args{"pattern": "func", "glob": "wide"}), "wide:1:"+strings.Repeat("é", 250)+" [304 more bytes]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := grep(args{"pattern": "func", "path": "node_modules"}), "node_modules/x.go:1:func\n"; got != want {
		t.Errorf("asked for by path: got %q, want %q", got, want)
	}
	many := grep(args{"pattern": "match"})
	if n := strings.Count(many, "many:"); n != grepMatches || !strings.Contains(many, "[Stopped after 200 matches.") {
		t.Errorf("%d matches: %s", n, many[len(many)-200:])
	}
	wantOK(t, use(t, w, "grep", args{"pattern": "nowhere"}), "No matches.")
	wantError(t, use(t, w, "grep", args{"pattern": "("}), "not a valid regular expression")
	wantError(t, use(t, w, "grep", args{"pattern": "x", "glob": "["}), "glob cannot be used")
	wantError(t, use(t, w, "grep", args{"pattern": "x", "path": "gone"}), "Cannot search gone: it does not exist.")
}

func TestFind(t *testing.T) {
	w := plainWorkspace(t, "a.go", "", "sub/b.go", "", "sub/deep/c.go", "", ".git/d.go", "", "sub/node_modules/e.go", "")
	for i := range 600 {
		put(t, filepath.Join(w.Dir(), "many", fmt.Sprintf("%03d.x", i)), "")
	}
	find := func(a args) string { return use(t, w, "find", a).PlainText() }
	if got, want := find(args{"pattern": "*.go"}), "a.go\nsub/b.go\nsub/deep/c.go\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := find(args{"pattern": "deep/**", "path": "sub"}), "sub/deep/c.go\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := find(args{"pattern": "*/deep"}), "sub/deep/\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	many := strings.Split(find(args{"pattern": "*.x"}), "\n")
	if !strings.HasPrefix(many[findPaths], "[Stopped after 500 paths.") || !slices.IsSorted(many[:findPaths]) {
		t.Errorf("not the first 500 in order: %s", many[findPaths])
	}
	wantOK(t, use(t, w, "find", args{"pattern": "nowhere"}), "Nothing found.")
	wantError(t, use(t, w, "find", args{"pattern": "*", "path": "a.go"}), "not a directory")
	wantError(t, use(t, w, "find", args{"pattern": "{a"}), "pattern cannot be used")
}
