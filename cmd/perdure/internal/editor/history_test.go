package editor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestHistoryIsBoundedAndPrivate checks that the next chat reads the same history, that its size is
// bounded, that only its owner can read the file, and that lines that do not decode are skipped.
func TestHistoryIsBoundedAndPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxHistory + 10 {
		if err := h.Add(fmt.Sprintf("input %d\nof two lines", i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, ignored := range []string{"", h.lines[len(h.lines)-1], strings.Repeat("x", maxHistoryEntry+1)} {
		if err := h.Add(ignored); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{}\nno json\n\"last\"\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(h.lines[1:]), "last")
	if !slices.Equal(again.lines, want) {
		t.Errorf("%d inputs from %q to %q", len(again.lines), again.lines[0], again.lines[len(again.lines)-1])
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), "\n"); n != maxHistory {
		t.Errorf("the file has %d lines", n)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
}

// TestALongHistoryIsMadeShorter checks that a history's file over the limit in bytes is made shorter.
func TestALongHistoryIsMadeShorter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	line, err := json.Marshal(strings.Repeat("x", maxHistoryEntry))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat(string(line)+"\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.lines) == 0 || info.Size() > maxHistoryBytes {
		t.Errorf("%d inputs, %d bytes", len(h.lines), info.Size())
	}
}
