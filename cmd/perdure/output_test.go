package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sources parses the Go files below this folder whose names the function `keep` accepts.
func sources(t *testing.T, keep func(name string) bool) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || !keep(path) {
			return err
		}
		all[path], err = parser.ParseFile(token.NewFileSet(), path, nil, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

func isProgram(name string) bool { return !isTest(name) && !strings.Contains(name, "terminaltest") }

// TestAllOutputGoesThroughAScreen checks that all output of the program's commands goes through a
// terminal.Screen. The code uses os.Stdout and os.Stderr only to create a screen, and calls no
// function that prints without a writer, such as fmt.Println.
func TestAllOutputGoesThroughAScreen(t *testing.T) {
	screens := 0
	for file, parsed := range sources(t, isProgram) {
		within := map[ast.Node]bool{}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if called := nameOf(n.Fun); called == "terminal.NewScreen" || called == "NewScreen" {
					screens++
					within[n.Args[0]] = true
				} else if called == "print" || called == "println" {
					t.Errorf("%s calls %s", file, called)
				}
			case *ast.SelectorExpr:
				name := nameOf(n)
				// The editor for a person's answer writes to the terminal itself, not to a screen.
				editor := strings.HasSuffix(file, "questions/edit.go")
				if (name == "os.Stdout" || name == "os.Stderr") && !within[n] && !editor {
					t.Errorf("%s names %s; write to a screen", file, name)
				}
				switch name {
				case "fmt.Print", "fmt.Println", "fmt.Printf", "log.Print", "log.Println", "log.Printf", "log.Fatal", "log.Fatalf":
					t.Errorf("%s calls %s; write to a screen", file, name)
				}
				if n.Sel.Name == "OutOrStdout" || n.Sel.Name == "OutOrStderr" || n.Sel.Name == "ErrOrStderr" {
					t.Errorf("%s calls %s; write to a screen", file, n.Sel.Name)
				}
				if base := filepath.Base(file); n.Sel.Name == "writeStyled" && base != "page.go" && base != "progress.go" {
					t.Errorf("%s writes styled text: what it prints may contain sequences", file)
				}
			}
			return true
		})
	}
	if screens != 3 {
		t.Errorf("%d screens are created, want those of main and of what ends the process", screens)
	}
}

// nameOf returns the name of an identifier or of a selector like package.name; "" for another expression.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok {
			return of.Name + "." + e.Sel.Name
		}
	}
	return ""
}

// TestEachPrintFunctionIsChecked checks that each function that prints data of the API is called in
// the output_test.go of its package. The tests in such a file check that the data cannot control the
// terminal.
func TestEachPrintFunctionIsChecked(t *testing.T) {
	checked := map[string]bool{} // keys are package/function
	for file, parsed := range sources(t, func(name string) bool { return filepath.Base(name) == "output_test.go" }) {
		ast.Inspect(parsed, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				checked[filepath.Dir(file)+"/"+id.Name] = true
			}
			return true
		})
	}
	found := 0
	for file, parsed := range sources(t, isProgram) {
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "print") || !takesData(f) {
				continue
			}
			found++
			if name := filepath.Dir(file) + "/" + f.Name.Name; !checked[name] {
				t.Errorf("%s is not called in the output_test.go of its package", name)
			}
		}
	}
	if found < 12 {
		t.Errorf("only %d functions that print were found", found)
	}
}

// takesData reports whether a function has a parameter whose type is defined in package perdure or client.
func takesData(f *ast.FuncDecl) bool {
	takes := false
	ast.Inspect(f.Type.Params, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if ok && (strings.HasPrefix(nameOf(s), "perdure.") || strings.HasPrefix(nameOf(s), "client.")) {
			takes = true
		}
		return true
	})
	return takes
}
