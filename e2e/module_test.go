package e2e

import (
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// published is the module of this source tree, with the version that the proxy of publishModule has.
var published = module.Version{Path: "github.com/perdure/perdure", Version: "v0.0.0-test"}

// publishModule creates a proxy for the go command that has only one module: the tracked files of this
// source tree. It returns the proxy's URL.
func publishModule(t *testing.T) string {
	t.Helper()
	proxy := t.TempDir()
	versions := filepath.Join(proxy, filepath.FromSlash(published.Path), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join("..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(versions, "list"), published.Version+"\n")
	writeFile(t, filepath.Join(versions, published.Version+".info"), `{"Version": "`+published.Version+`", "Time": "2026-01-01T00:00:00Z"}`)
	writeFile(t, filepath.Join(versions, published.Version+".mod"), string(mod))
	zipModule(t, filepath.Join(versions, published.Version+".zip"))
	return fileURL(proxy)
}

// zipModule writes the module of the source tree as a zip file, with the files that the go command would
// choose. It leaves out modules in folders of the tree.
func zipModule(t *testing.T, to string) {
	t.Helper()
	var files []zip.File
	for _, name := range moduleFiles(t) {
		if info, err := os.Lstat(filepath.Join("..", filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
			files = append(files, treeFile(name))
		}
	}
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.Create(out, published, files); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// moduleFiles returns the files that git tracks. If the source tree is no git work tree, it returns all
// files except those that a build creates.
func moduleFiles(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join("..", ".git")); err != nil {
		return unpackedFiles(t)
	}
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
}

// unpackedFiles returns the files of a source tree without git, except those that a build creates.
func unpackedFiles(t *testing.T) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (name == "bin" || path.Base(name) == "node_modules") {
			return fs.SkipDir
		}
		if entry.Type().IsRegular() {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// treeFile is a file of the source tree; its value is the path in the module. It implements the
// interface File of golang.org/x/mod/zip.
type treeFile string

// Path returns the path in the module.
func (f treeFile) Path() string { return string(f) }

// Lstat describes the file.
func (f treeFile) Lstat() (os.FileInfo, error) { return os.Lstat(f.name()) }

// Open opens the file.
func (f treeFile) Open() (io.ReadCloser, error) { return os.Open(f.name()) }

func (f treeFile) name() string { return filepath.Join("..", filepath.FromSlash(string(f))) }

// fileURL returns the file: URL of a folder, for the variable GOPROXY.
func fileURL(dir string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()
}

func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
