package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rule is one row of the list in docs/contract.md.
type rule struct {
	line  int
	text  string
	tests []string
}

// rulesOf returns the rules in the text of docs/contract.md: the rows of the tables with the header
// "| rule | tests |".
func rulesOf(doc string) []rule {
	var rules []rule
	inTable := false
	for i, line := range strings.Split(doc, "\n") {
		cells, isRow := cellsOf(line)
		switch {
		case !isRow:
			inTable = false
		case len(cells) == 2 && cells[0] == "rule" && cells[1] == "tests":
			inTable = true
		case inTable && !strings.HasPrefix(cells[0], "---"):
			rules = append(rules, rule{line: i + 1, text: cells[0], tests: quoted(cells[1:])})
		}
	}
	return rules
}

func cellsOf(line string) ([]string, bool) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
	if !ok {
		return nil, false
	}
	cells := strings.Split(strings.TrimSuffix(inner, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells, true
}

var code = regexp.MustCompile("`([^`]+)`")

func quoted(cells []string) []string {
	var words []string
	for _, m := range code.FindAllStringSubmatch(strings.Join(cells, " "), -1) {
		words = append(words, m[1])
	}
	return words
}

// check returns a description of each fault in the list: a rule that occurs twice, names no test,
// or names a test that does not exist. The parameter `packages` has the existing tests, by folder.
func check(rules []rule, packages map[string]*tests) []string {
	var wrong []string
	known := map[string]bool{}
	for _, r := range rules {
		say := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("line %d (%s): ", r.line, r.text)+fmt.Sprintf(format, args...))
		}
		if known[r.text] {
			say("stands twice")
		}
		known[r.text] = true
		if len(r.tests) == 0 {
			say("names no test")
		}
		for _, name := range r.tests {
			if problem := find(name, packages); problem != "" {
				say("%s", problem)
			}
		}
	}
	return wrong
}

var reference = regexp.MustCompile(`^([a-z0-9/]+)\.((?:Test|Fuzz|Example)\w*)(?:/(.+))?$`)

// find returns "" if one of the packages has the named test, and otherwise the reason why there is
// none.
func find(name string, packages map[string]*tests) string {
	m := reference.FindStringSubmatch(name)
	if m == nil {
		return fmt.Sprintf("%q is no package.Test", name)
	}
	folder, problem := folderOf(m[1], packages)
	if problem != "" {
		return problem
	}
	p := packages[folder]
	if !p.functions[m[2]] {
		return fmt.Sprintf("there is no %s in %s", m[2], folder)
	}
	if m[3] == "" {
		return ""
	}
	for sub := range strings.SplitSeq(m[3], "/") {
		if !p.literals[sub] {
			return fmt.Sprintf("%s in %s has no %q", m[2], folder, sub)
		}
	}
	return ""
}

// folderOf returns the folder of a package. The package is named by its path or by the end of the
// path; the root package is named perdure. If not exactly one folder matches, the problem is
// returned.
func folderOf(short string, packages map[string]*tests) (folder, problem string) {
	if short == "perdure" {
		return ".", ""
	}
	var found []string
	for path := range packages {
		if path == short {
			return path, ""
		}
		if strings.HasSuffix(path, "/"+short) {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	switch len(found) {
	case 0:
		return "", fmt.Sprintf("there is no package %s with tests", short)
	case 1:
		return found[0], ""
	}
	return "", fmt.Sprintf("there are several packages %s: %v", short, found)
}
