// Package contract checks docs/contract.md: every rule of the page must name an existing test. The
// package contains only tests.
package contract

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func TestEveryRuleNamesATestThatExists(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join(root, "docs", "contract.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules := rulesOf(string(doc))
	if len(rules) < 100 {
		t.Fatalf("only %d rules were found", len(rules))
	}
	packages, err := testsBelow(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range check(rules, packages) {
		t.Error(wrong)
	}
}

// TestAWrongListIsFound checks that the function `check` reports each kind of fault in a list of
// rules, and reports nothing about a correct row.
func TestAWrongListIsFound(t *testing.T) {
	packages := map[string]*tests{
		".":             {functions: set("TestRoot")},
		"cmd/perdure":   {functions: set("TestScripts"), literals: set("wait")},
		"internal/x":    {functions: set("TestOne", "FuzzTwo"), literals: set("a sub test")},
		"internal/a/up": {functions: set("TestUp")},
		"internal/b/up": {functions: set("TestUp")},
	}
	for row, wrong := range map[string]string{
		"| a rule | `x.TestOne` |":                           "",
		"| a rule | `x.TestOne`, `x.FuzzTwo` |":              "",
		"| a rule | `x.TestOne/a sub test` |":                "",
		"| a rule | `perdure.TestRoot` |":                    "",
		"| a rule | `cmd/perdure.TestScripts/wait` |":        "",
		"| a rule | `a/up.TestUp` |":                         "",
		"| `code` in a rule | `x.TestOne` |":                 "",
		"| a rule | |":                                       "names no test",
		"| a rule |":                                         "names no test",
		"| a rule | x.TestOne |":                             "names no test",
		"| a rule | `x.TestOne`, `x.TestGone` |":             "there is no TestGone in internal/x",
		"| a rule | `y.TestOne` |":                           "no package y",
		"| a rule | `up.TestUp` |":                           "several packages up",
		"| a rule | `x.TestOne/another sub test` |":          "has no \"another sub test\"",
		"| a rule | `x` |":                                   "is no package.Test",
		"| a rule | `x.helper` |":                            "is no package.Test",
		"| a rule | `x.TestOne` |\n| a rule | `x.TestOne` |": "stands twice",
	} {
		got := check(rulesOf("# Title\n\n## Part\n\n| rule | tests |\n|---|---|\n"+row+"\n\nWords.\n"), packages)
		switch {
		case wrong == "" && len(got) > 0:
			t.Errorf("%s is refused: %v", row, got)
		case wrong != "" && (len(got) != 1 || !strings.Contains(got[0], wrong)):
			t.Errorf("%s gave %q, want one that says %q", row, got, wrong)
		}
	}
}

func TestTestsAreRead(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"go.mod":                   "module m\n",
		"p/p.go":                   "package p\n\nfunc TestNotInATestFile() {}\n",
		"p/p_test.go":              "package p\n\nimport (\n\t\"testing\"\n\t\"m/suitetest\"\n)\n\nfunc TestOne(t *testing.T) { t.Run(\"first\", nil) }\nfunc (x) TestMethod(t *testing.T) {}\nfunc helper() {}\n",
		"p/testdata/s/case.txtar":  "",
		"p/testdata/bad_test.go":   "not go",
		"suitetest/suite.go":       "package suitetest\n\nvar tests = map[string]int{\"of the suite\": 1}\n",
		"node_modules/x/x_test.go": "not go",
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packages, err := testsBelow(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := packages["p"]
	if len(packages) != 1 || p == nil || len(p.functions) != 1 || !p.functions["TestOne"] {
		t.Fatalf("found: %v", packages)
	}
	for _, sub := range []string{"first", "of the suite", "case"} {
		if !p.literals[sub] {
			t.Errorf("%q was not found", sub)
		}
	}
}

func set(words ...string) map[string]bool {
	s := map[string]bool{}
	for _, word := range words {
		s[word] = true
	}
	return s
}
