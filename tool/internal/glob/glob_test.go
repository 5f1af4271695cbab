package glob

import (
	"path"
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	tests := []struct {
		pattern string
		yes, no []string
	}{
		{"*.go", []string{"a.go", "x/y/a.go", ".go"}, []string{"a.got", "a.go/b"}},
		{"./*.go", []string{"a.go", "x/a.go"}, []string{"a.c"}},
		{"src/*.go", []string{"src/a.go"}, []string{"src/x/a.go", "a.go", "x/src/a.go"}},
		{"**/*.go", []string{"a.go", "x/a.go", "x/y/a.go"}, []string{"a.c"}},
		{"src/**/*.go", []string{"src/a.go", "src/x/y/a.go"}, []string{"a.go", "srca.go", "src2/a.go"}},
		{"src/**", []string{"src/a", "src/x/y"}, []string{"src", "other/src"}},
		{"**", []string{"a", "a/b"}, nil},
		{"a**b/c", []string{"ab/c", "axb/c"}, []string{"a/b/c", "ax/xb/c"}},
		{"{a,b/**/c}.go", []string{"a.go", "b/c.go", "b/x/c.go"}, []string{"c.go", "b.go"}},
		{"*.{ts,tsx}", []string{"a.ts", "x/a.tsx"}, []string{"a.t", "a.ts,tsx"}},
		{"a,b", []string{"a,b"}, []string{"a", "b"}},
		{"?.c", []string{"a.c", "é.c"}, []string{"ab.c", ".c"}},
		{"[a-c]x", []string{"ax", "cx"}, []string{"dx", "x", "a-cx"}},
		{"[!a-c]x", []string{"dx"}, []string{"ax", "x"}},
		{"[]]x", []string{"]x"}, []string{"x"}},
		{`[a\-c]x`, []string{"-x", "cx"}, []string{"bx"}},
		{`\*.go`, []string{"*.go"}, []string{"a.go"}},
		{"a.c", []string{"a.c"}, []string{"abc"}},
		{"a(b)+$", []string{"a(b)+$"}, []string{"ab", "abb"}},
		{"naïve*", []string{"naïve.txt"}, []string{"naive.txt"}},
	}
	for _, tt := range tests {
		g, err := Compile(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		for _, p := range tt.yes {
			if !g.Match(p) {
				t.Errorf("%s does not match %s", tt.pattern, p)
			}
		}
		for _, p := range tt.no {
			if g.Match(p) {
				t.Errorf("%s matches %s", tt.pattern, p)
			}
		}
	}
}

func TestGlobErrors(t *testing.T) {
	for _, pattern := range []string{"", "./", "[a", "{a,b", `a\`, "[z-a]", "[/]"} {
		if _, err := Compile(pattern); err == nil {
			t.Errorf("%q is accepted", pattern)
		}
	}
}

// FuzzGlob checks that Compile and path.Match return the same result for patterns that mean the
// same to both.
func FuzzGlob(f *testing.F) {
	for _, s := range [][2]string{{"*.go", "a.go"}, {"a/*/c", "a/b/c"}, {"[a-z]?", "b2"}, {`\[x`, "[x"}, {"[^x]", "y"}, {"a*b*c", "aXbYc"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := Compile(pattern)
		if err != nil {
			return
		}
		got := g.Match(name)
		// Compile and path.Match differ for patterns with features that path.Match lacks: **,
		// braces, [!a], names in any folder, or a leading "./". They also differ for classes with a
		// slash, and for text that is not UTF-8.
		ours := strings.Contains(pattern, "**") || strings.ContainsAny(pattern, "{}") || strings.Contains(pattern, "[!") ||
			strings.HasPrefix(pattern, "./") || strings.Contains(pattern, "[") && strings.Contains(name+pattern, "/")
		if ours || strings.ToValidUTF8(pattern+name, "") != pattern+name {
			return
		}
		if !strings.Contains(pattern, "/") && strings.Contains(name, "/") {
			name = name[strings.LastIndexByte(name, '/')+1:]
		}
		if want, err := path.Match(pattern, name); err == nil && got != want {
			t.Errorf("glob %q matches %q: %v, want %v", pattern, name, got, want)
		}
	})
}
