package markdown

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// example is an example of the CommonMark specification, or of the GFM extensions.
type example struct {
	name     string
	Markdown string `json:"markdown"`
}

// specExamples reads the examples from goldmark's own test data.
func specExamples(t *testing.T) []example {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Fatalf("where is goldmark: %v", err)
	}
	dir := strings.TrimSpace(string(out))
	raw, err := os.ReadFile(filepath.Join(dir, "_test", "spec.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 600 {
		t.Fatalf("the specification has only %d examples", len(all))
	}
	for _, name := range []string{"table", "strikethrough", "tasklist", "linkify"} {
		all = append(all, gfmExamples(t, filepath.Join(dir, "extension", "_test", name+".txt"))...)
	}
	return all
}

// gfmExamples reads the examples of an extension. The markdown of each is between two lines of
// dashes.
func gfmExamples(t *testing.T, file string) []example {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []example
	var lines []string
	inside := false
	for line := range strings.Lines(string(raw)) {
		switch {
		case strings.HasPrefix(line, "//- - -") && !inside:
			inside, lines = true, nil
		case strings.HasPrefix(line, "//- - -"):
			inside = false
			all = append(all, example{name: file, Markdown: strings.Join(lines, "")})
		case inside:
			lines = append(lines, line)
		}
	}
	if len(all) < 3 {
		t.Fatalf("%s has only %d examples", file, len(all))
	}
	return all
}

// answers returns recorded long answers of models.
func answers(t *testing.T) []example {
	t.Helper()
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) < 4 {
		t.Fatalf("the corpus has %d files: %v", len(files), err)
	}
	var all []example
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, example{name: file, Markdown: string(raw)})
	}
	return all
}
