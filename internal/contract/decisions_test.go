package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDecisionsAreNumberedAndListed checks the pages of docs/decisions: their numbers have no gaps,
// each page's title has its number, and the index links to each page.
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

// linkToDecision matches a link to the page of a decision, if the link's text ends with a number,
// such as [decision 44](decisions/044-a-store.md). The groups are that number and the page's name.
var linkToDecision = regexp.MustCompile(`(\d+)\.?\]\((?:[\w./-]*/)?(\d{3}-[\w-]+\.md)[)#]`)

// wordDecision matches a decision that a text names by its number, with or without a link.
var wordDecision = regexp.MustCompile(`(?i)\bdecisions? \[?(\d+)`)

// TestDecisionsAreLinkedByTheirNumbers checks that each decision that is named in a page exists. If
// the name is a link, the link's text must have the number of the page to which it leads.
func TestDecisionsAreLinkedByTheirNumbers(t *testing.T) {
	root := filepath.Join("..", "..")
	decisions := filepath.Join(root, "docs", "decisions")
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CHANGELOG.md"), filepath.Join(root, "CONTRIBUTING.md")}
	for _, pattern := range []string{filepath.Join(root, "docs", "*.md"), filepath.Join(decisions, "*.md")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	links := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range linkToDecision.FindAllStringSubmatch(string(text), -1) {
			links++
			if number(t, link[1]) != number(t, link[2][:3]) {
				t.Errorf("%s calls %s number %s", page, link[2], link[1])
			}
			if _, err := os.Stat(filepath.Join(decisions, link[2])); err != nil {
				t.Errorf("%s links to a decision that is not there: %v", page, err)
			}
		}
		for _, word := range wordDecision.FindAllStringSubmatch(string(text), -1) {
			found, err := filepath.Glob(filepath.Join(decisions, fmt.Sprintf("%03d-*.md", number(t, word[1]))))
			if err != nil || len(found) != 1 {
				t.Errorf("%s names decision %s, which is not there", page, word[1])
			}
		}
	}
	if links < 40 {
		t.Errorf("found only %d links to decisions", links)
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
