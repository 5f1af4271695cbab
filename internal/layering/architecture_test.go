package layering

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// architecture is the page with the table of packages.
const architecture = "../../docs/architecture.md"

// pageRow is a row of the table: packages, and the packages that they may import.
type pageRow struct {
	line     string
	packages []string
	imports  string
}

var quoted = regexp.MustCompile("`([^`]+)`")

// names returns the names in backticks in a cell of the table.
func names(cell string) []string {
	var all []string
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// readTable returns the rows of the table of packages. The first name in a row is a path. Each
// other name is a path, or the name of a package in the folder of the first.
func readTable(t *testing.T) []pageRow {
	t.Helper()
	page, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "\n| package | what it does | may import |\n|---|---|---|\n")
	if !found {
		t.Fatalf("%s has no table of packages", architecture)
	}
	var rows []pageRow
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		line = strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 3 {
			t.Fatalf("the row has %d cells: %s", len(cells), line)
		}
		r := pageRow{line: line, imports: cells[2]}
		for _, name := range names(cells[0]) {
			if len(r.packages) > 0 && !strings.Contains(name, "/") {
				name = path.Join(path.Dir(r.packages[0]), name)
			}
			r.packages = append(r.packages, name)
		}
		if cells[0] == "(root)" {
			r.packages = []string{""}
		}
		rows = append(rows, r)
	}
	return rows
}

// TestThePageListsEveryPackage checks that each package in `rules` is in the table of
// docs/architecture.md, and that each name in the table's first column is in `rules`.
func TestThePageListsEveryPackage(t *testing.T) {
	var listed []string
	for _, r := range readTable(t) {
		if len(r.packages) == 0 {
			t.Errorf("the row names no package: %s", r.line)
		}
		listed = append(listed, r.packages...)
	}
	for _, name := range listed {
		if _, known := rules[name]; !known {
			t.Errorf("%s lists %s, which has no rule", architecture, name)
		}
	}
	for name := range rules {
		if !slices.Contains(listed, name) {
			t.Errorf("%s does not list %s", architecture, name)
		}
	}
}

// TestThePageNamesAllowedImports checks the last column of the table in docs/architecture.md
// against `rules`. "nothing" means that the row's packages may import only the root package, and
// "all packages" that they may import all. Otherwise the column names packages by their paths, or
// by the ends of paths. At least one of the row's packages must be allowed to import each package
// that the column names.
func TestThePageNamesAllowedImports(t *testing.T) {
	for _, r := range readTable(t) {
		var allowed []string
		for _, name := range r.packages {
			allowed = append(allowed, rules[name]...)
		}
		switch imported := names(r.imports); {
		case r.imports == "nothing" || r.imports == "nothing else":
			if len(allowed) > 0 {
				t.Errorf("these packages may import %q: %s", allowed, r.line)
			}
		case r.imports == "all packages":
			if slices.ContainsFunc(r.packages, func(name string) bool { return !slices.Contains(rules[name], "...") }) {
				t.Errorf("one of these packages may not import all: %s", r.line)
			}
		case len(imported) == 0:
			t.Errorf("the last column names no package: %s", r.line)
		default:
			for _, name := range imported {
				if !slices.ContainsFunc(allowed, func(rule string) bool {
					return rule == name || matches(rule, name) || strings.HasSuffix(rule, "/"+name)
				}) {
					t.Errorf("none of these packages may import %s: %s", name, r.line)
				}
			}
		}
	}
}
