package contract

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// tests contains the names of a package's tests, and the possible names of their subtests.
type tests struct {
	functions map[string]bool
	// literals are the strings that may be names of subtests: the strings of the test files and of
	// the suites that they import, and the names of scripts below testdata.
	literals map[string]bool
}

// testsBelow parses the test files of the module at root. It returns the tests by folder.
func testsBelow(root string) (map[string]*tests, error) {
	packages := map[string]*tests{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, path, d.Name())
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		if packages[folder] == nil {
			packages[folder] = &tests{functions: map[string]bool{}, literals: map[string]bool{}}
			packages[folder].addScripts(filepath.Join(filepath.Dir(path), "testdata"))
		}
		return packages[folder].addFile(root, path)
	})
	return packages, err
}

// skip returns filepath.SkipDir for folders that are not part of the module: those that the go tool
// ignores, and nested modules.
func skip(root, path, name string) error {
	if path == root {
		return nil
	}
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	if err == nil || name == "testdata" || name == "node_modules" || name[0] == '.' || name[0] == '_' {
		return filepath.SkipDir
	}
	return nil
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)`)

func (p *tests) addFile(root, path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && testName.MatchString(f.Name.Name) {
			p.functions[f.Name.Name] = true
		}
	}
	p.addLiterals(file)
	for _, i := range file.Imports {
		// addSuite needs only the last elements of the import path to find the folder of a package of
		// this module.
		imported, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return err
		}
		if err := p.addSuite(root, imported); err != nil {
			return err
		}
	}
	return nil
}

// addSuite adds the strings of a test suite package if the package belongs to this module.
func (p *tests) addSuite(root, imported string) error {
	if !strings.HasSuffix(imported, "test") {
		return nil
	}
	for rest := imported; rest != ""; {
		if files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(rest), "*.go")); len(files) > 0 {
			for _, path := range files {
				file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
				if err != nil {
					return err
				}
				p.addLiterals(file)
			}
			return nil
		}
		_, rest, _ = strings.Cut(rest, "/")
	}
	return nil
}

func (p *tests) addLiterals(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil {
				p.literals[text] = true
			}
		}
		return true
	})
}

func (p *tests) addScripts(folder string) {
	// WalkDir fails if the package has no folder testdata. Such a package has no scripts.
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			p.literals[strings.TrimSuffix(d.Name(), filepath.Ext(path))] = true
		}
		return nil
	})
}
