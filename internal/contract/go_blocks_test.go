package contract

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goBlock matches a block of Go code in a page of docs. The file testdata/go/PAGE.go.txt has the Go
// code around the blocks of a page. blockLine matches each line of that file that a block replaces.
var (
	goBlock   = regexp.MustCompile("(?ms)^```go\n(.*?)^```")
	blockLine = regexp.MustCompile(`(?m)^\s*// block\n`)
)

// programs maps the name of a page in docs to the example program that contains the page's Go code.
// A build of all packages of the module compiles the example programs too.
var programs = map[string]string{"embedding": "examples/embedded/main.go"}

// TestGoOfPagesIsThatOfItsProgram checks, for each page in the map `programs`, that the page's
// example program contains the page's Go code word for word.
func TestGoOfPagesIsThatOfItsProgram(t *testing.T) {
	for page, file := range programs {
		program := readFile(t, filepath.Join(root, file))
		blocks := goBlock.FindAllStringSubmatch(readFile(t, filepath.Join(root, "docs", page+".md")), -1)
		if len(blocks) == 0 {
			t.Errorf("docs/%s.md has no Go code", page)
		}
		for _, block := range blocks {
			if !strings.Contains(program, "\n"+block[1]) {
				t.Errorf("docs/%s.md has code that %s does not have:\n%s", page, file, block[1])
			}
		}
	}
}

// TestGoInDocsCompiles checks that the Go code in the pages of docs compiles. The blocks of
// docs/PAGE.md are inserted into testdata/go/PAGE.go.txt. The go command compiles the resulting Go
// file through an overlay. e2e.TestTheModuleInstallsByItsPath compiles the code of README.md.
func TestGoInDocsCompiles(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	overlay, packages := map[string]string{}, []string{}
	for _, page := range pages {
		name := strings.TrimSuffix(filepath.Base(page), ".md")
		if programs[name] != "" {
			continue
		}
		file := completed(t, page, name)
		if file == "" {
			continue
		}
		written := filepath.Join(t.TempDir(), name+".go")
		writeFile(t, written, file)
		overlay[absolute(t, filepath.Join(root, "internal", "contract", "blocks", name, name+".go"))] = written
		packages = append(packages, "./internal/contract/blocks/"+name)
	}
	if len(packages) < 4 {
		t.Fatalf("only %d pages with Go were found", len(packages))
	}
	compile(t, overlay, packages)
}

// completed returns the content of testdata/go/NAME.go.txt with the Go blocks of the page inserted.
// It returns "" if the page has no Go code. The parameter page is the path of the page, and name is
// the name in that path without folder and extension.
func completed(t *testing.T, page, name string) string {
	t.Helper()
	blocks := goBlock.FindAllStringSubmatch(readFile(t, page), -1)
	if len(blocks) == 0 {
		return ""
	}
	around := blockLine.Split(readFile(t, filepath.Join("testdata", "go", name+".go.txt")), -1)
	if len(around) != len(blocks)+1 {
		t.Fatalf("docs/%s.md has %d blocks of Go, and its context places for %d", name, len(blocks), len(around)-1)
	}
	file := around[0]
	for i, block := range blocks {
		file += block[1] + around[i+1]
	}
	return file
}

func compile(t *testing.T, overlay map[string]string, packages []string) {
	t.Helper()
	replaced, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	writeFile(t, list, string(replaced))
	cmd := exec.Command("go", append([]string{"build", "-overlay", list, "-o", os.DevNull}, packages...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the Go in docs does not compile: %v\n%s", err, out)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	whole, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
