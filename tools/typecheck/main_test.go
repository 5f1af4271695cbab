package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestErrorsOfThePlatformAreFound checks that an error is found in a file of the platform, and not
// in a file of another one.
func TestErrorsOfThePlatformAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.com/m\n\ngo 1.26\n",
		"m.go":        "package m\n\nimport \"syscall\"\n\nvar _ = size\nvar _ syscall.Errno\n",
		"m_linux.go":  "package m\n\nvar size = 1\n",
		"m_darwin.go": "package m\n\nfunc size() int { return \"one\" }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CGO_ENABLED", "0")
	for platform, sound := range map[string]bool{"linux": true, "darwin": false, "windows": false} {
		t.Setenv("GOOS", platform)
		if n, err := check(dir, "./..."); (err == nil) != sound || sound && n != 1 {
			t.Errorf("for %s: %d packages, %v", platform, n, err)
		}
	}
	if _, err := check(dir, "./none/..."); err == nil {
		t.Error("a pattern that matches nothing is accepted")
	}
}
