package layering

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// impure lists, by package, the functions that the code of internal/rules must not use: functions
// that read a clock, wait, or return a new value at each call.
var impure = map[string][]string{
	"time":                   {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"},
	"github.com/google/uuid": {"New", "NewString", "NewRandom", "NewRandomFromReader", "NewUUID", "NewV6", "NewV7", "NewV7FromReader"},
}

// TestDecisionsArePure checks that internal/rules and the packages below it read no clock, create
// no ids, start no goroutines, and use no channels. These packages compute the changes of a
// command, possibly twice for one command, and both results must be equal.
// TestPackagesImportOnlyWhatTheirPlaceAllows checks the imports of these packages.
func TestDecisionsArePure(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../rules", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files++
		faults, err := impurities(path, nil)
		for _, fault := range faults {
			t.Errorf("%s: %s", path, fault)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Fatalf("only %d files were found", files)
	}
}

// TestImpuritiesAreFound checks that `impurities` reports each kind of impurity, and nothing for
// pure code.
func TestImpuritiesAreFound(t *testing.T) {
	for code, want := range map[string]string{
		"var _ = time.Second": "",
		"var _ = id.NewSHA1":  "",
		"func f(now time.Time) time.Time { return now.Add(1) }": "",
		"var _ = time.Now()":     "uses time.Now",
		"var now = time.Now":     "uses time.Now",
		"var _ = id.New()":       "uses uuid.New",
		"func f() { go f() }":    "starts a goroutine",
		"func f() { select {} }": "waits",
		"var c chan int":         "has a channel",
	} {
		got, err := impurities("x.go", "package x\n\nimport (\n\t\"time\"\n\tid \"github.com/google/uuid\"\n)\n\n"+code+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: found %q, want %q", code, got, want)
		}
	}
}

// impurities returns the constructs that make a file impure.
func impurities(path string, source any) (faults []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // maps a name in the file to an import path
	for _, imported := range file.Imports {
		from := strings.Trim(imported.Path.Value, `"`)
		name := from[strings.LastIndex(from, "/")+1:]
		if imported.Name != nil {
			name = imported.Name.Name
		}
		names[name] = from
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			faults = append(faults, "starts a goroutine")
		case *ast.SelectStmt:
			faults = append(faults, "waits")
		case *ast.ChanType:
			faults = append(faults, "has a channel")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(impure[names[x.Name]], n.Sel.Name) {
				faults = append(faults, fmt.Sprintf("uses %s.%s", names[x.Name][strings.LastIndex(names[x.Name], "/")+1:], n.Sel.Name))
			}
		}
		return true
	})
	return faults, nil
}
