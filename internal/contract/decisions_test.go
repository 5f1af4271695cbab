package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDecisionsAreNumberedAndListed checks that the decisions have numbers without gaps, that each
// page's title has its number, and that the index links to each page.
func TestDecisionsAreNumberedAndListed(t *testing.T) {
	folder := filepath.Join("..", "..", "docs", "decisions")
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "[0-9]*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal("no decisions:", err)
	}
	for i, page := range pages {
		name := filepath.Base(page)
		if !strings.HasPrefix(name, fmt.Sprintf("%03d-", i+1)) {
			t.Errorf("%s has the place %d", name, i+1)
		}
		if !strings.Contains(string(index), "]("+name+")") {
			t.Errorf("the index does not link to %s", name)
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if title, want := string(text), fmt.Sprintf("# %d. ", i+1); !strings.HasPrefix(title, want) {
			t.Errorf("%s does not begin with %q", name, want)
		}
	}
}
