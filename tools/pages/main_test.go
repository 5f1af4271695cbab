package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAnArchiveHasTheFilesOfItsFolder checks that an archive equals its folder, and differs after each
// kind of change.
func TestAnArchiveHasTheFilesOfItsFolder(t *testing.T) {
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	folder, archive := t.TempDir(), filepath.Join(t.TempDir(), "a.zip")
	page, script := filepath.Join(folder, "index.html"), filepath.Join(folder, "assets", "a.js")
	write(page, "<html>")
	write(script, "let a")
	if err := pack(folder, archive); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := compare(folder, archive); err != nil {
		t.Error(err)
	}
	if err := pack(folder, archive); err != nil {
		t.Fatal(err)
	}
	if again, _ := os.ReadFile(archive); string(again) != string(first) {
		t.Error("packed again, the archive differs")
	}
	write(script, "let b")
	if compare(folder, archive) == nil {
		t.Error("a changed file is not found")
	}
	write(script, "let a")
	write(filepath.Join(folder, "more.js"), "")
	if compare(folder, archive) == nil {
		t.Error("a new file is not found")
	}
}
