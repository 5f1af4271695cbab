package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pathArguments describes the arguments of a built-in tool that takes paths, for the tests that try
// to leave the workspace.
type pathArguments struct {
	paths []string // names of the arguments that are paths
	globs []string // names of the arguments that are patterns of paths
	other args     // names and values of other required arguments
	texts []string // names of further arguments, whose text is not a path
}

// pathTools describes every built-in tool that takes a path. TestPathToolsAreDescribed compares it
// with Builtin.
var pathTools = map[string]pathArguments{
	"read-file":  {paths: []string{"path"}},
	"write-file": {paths: []string{"path"}, other: args{"content": "overwritten"}},
	"edit-file":  {paths: []string{"path"}, other: args{"oldString": "secret", "newString": "no"}},
	"grep":       {paths: []string{"path"}, globs: []string{"glob"}, other: args{"pattern": "secret"}},
	"find":       {paths: []string{"path"}, globs: []string{"pattern"}},
}

// commandTools are the built-in tools that run commands. Other tests check their confinement.
var commandTools = map[string]bool{"bash": true}

// describe returns the differences between the tools and the table of path tools: tools and path
// arguments that the table does not describe, and tools of the table that do not exist.
func describe(tools []Tool, table map[string]pathArguments) (lacks []string) {
	known := map[string]bool{}
	for _, t := range tools {
		known[t.Name] = true
		a, described := table[t.Name]
		if described == commandTools[t.Name] {
			lacks = append(lacks, t.Name+" has to be in one of pathTools and commandTools")
			continue
		}
		if described {
			lacks = append(lacks, a.compare(t)...)
		}
	}
	for name := range table {
		if !known[name] {
			lacks = append(lacks, "there is no tool "+name)
		}
	}
	return lacks
}

// compare returns the differences between the description a and the arguments of the tool t.
// Numbers and booleans need no description.
func (a pathArguments) compare(t Tool) (lacks []string) {
	var schema struct {
		Properties map[string]struct{ Type any }
	}
	if err := json.Unmarshal(t.Schema, &schema); err != nil {
		return []string{t.Name + ": " + err.Error()}
	}
	described := slices.Concat(a.paths, a.globs, a.texts, slices.Collect(maps.Keys(a.other)))
	for name, p := range schema.Properties {
		harmless := p.Type == "integer" || p.Type == "number" || p.Type == "boolean"
		if !harmless && !slices.Contains(described, name) {
			lacks = append(lacks, fmt.Sprintf("the argument %s of %s is not described", name, t.Name))
		}
	}
	for _, name := range described {
		if _, ok := schema.Properties[name]; !ok {
			lacks = append(lacks, fmt.Sprintf("%s has no argument %s", t.Name, name))
		}
	}
	if len(a.paths) == 0 {
		lacks = append(lacks, t.Name+" has no path")
	}
	return lacks
}

// toolCall is a call of a built-in tool.
type toolCall struct {
	tool string
	args args
}

// callsAt returns calls of the built-in tools with the given path. There is one call for each
// argument that is a path. In each call, the other arguments that are paths name the workspace.
func callsAt(t *testing.T, path string) (calls []toolCall) {
	t.Helper()
	return callsOf(t, path, func(a pathArguments) []string { return a.paths })
}

// callsWithGlob returns calls of the built-in tools with the given pattern. There is one call for
// each argument that is a pattern of paths.
func callsWithGlob(t *testing.T, glob string) (calls []toolCall) {
	t.Helper()
	return callsOf(t, glob, func(a pathArguments) []string { return a.globs })
}

func callsOf(t *testing.T, value string, names func(pathArguments) []string) (calls []toolCall) {
	t.Helper()
	for _, tool := range Builtin() {
		if commandTools[tool.Name] {
			continue
		}
		described, ok := pathTools[tool.Name]
		if !ok {
			t.Fatalf("%s is not in pathTools", tool.Name)
		}
		for _, name := range names(described) {
			calls = append(calls, toolCall{tool.Name, described.with(name, value)})
		}
	}
	return calls
}

// with returns the arguments of a call in which the argument with this name has this value. The
// other arguments have harmless values.
func (a pathArguments) with(name, value string) args {
	all := args{}
	for _, path := range a.paths {
		all[path] = "."
	}
	for _, glob := range a.globs {
		all[glob] = "**"
	}
	maps.Copy(all, a.other)
	all[name] = value
	return all
}

// wantRefused calls each built-in tool with the path. It checks that each call returns an error
// that does not contain the secret.
func wantRefused(t *testing.T, w *Workspace, path, secret string) {
	t.Helper()
	for _, c := range callsAt(t, path) {
		r := use(t, w, c.tool, c.args)
		if !r.IsError {
			t.Errorf("%s takes %s: %s", c.tool, path, r.PlainText())
		}
		if strings.Contains(r.PlainText(), secret) {
			t.Errorf("%s %s leaks: %s", c.tool, path, r.PlainText())
		}
	}
}

func TestPathToolsAreDescribed(t *testing.T) {
	for _, lack := range describe(Builtin(), pathTools) {
		t.Error(lack)
	}
}

// TestMissingPathToolsAreFound checks that the function `describe` reports a missing tool, a
// missing argument and a new tool.
func TestMissingPathToolsAreFound(t *testing.T) {
	for name, a := range pathTools {
		table := maps.Clone(pathTools)
		delete(table, name)
		if lacks := describe(Builtin(), table); len(lacks) != 1 || !strings.Contains(lacks[0], name) {
			t.Errorf("without %s: %q", name, lacks)
		}
		a.paths = nil
		table[name] = a
		if lacks := describe(Builtin(), table); len(lacks) != 2 {
			t.Errorf("%s without its path: %q", name, lacks)
		}
	}
	added := Tool{Name: "move-file", Schema: json.RawMessage(`{"properties":{"from":{"type":"string"},"to":{"type":"string"},"force":{"type":"boolean"}}}`)}
	if lacks := describe(append(Builtin(), added), pathTools); len(lacks) != 1 || !strings.Contains(lacks[0], "move-file") {
		t.Errorf("with a new tool: %q", lacks)
	}
	table := maps.Clone(pathTools)
	table["move-file"] = pathArguments{paths: []string{"from"}}
	if lacks := describe(append(Builtin(), added), table); len(lacks) != 1 || !strings.Contains(lacks[0], "argument to") {
		t.Errorf("with a new argument: %q", lacks)
	}
	if lacks := describe(Builtin(), table); len(lacks) != 1 || !strings.Contains(lacks[0], "no tool move-file") {
		t.Errorf("with a tool that does not exist: %q", lacks)
	}
}

// TestPathToolsHideADataDirectoryInside checks that no tool that only reads shows anything of a data
// directory inside the workspace: neither its name nor what it contains.
func TestPathToolsHideADataDirectoryInside(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "sub", "hidden")
	put(t, filepath.Join(data, "token"), "top secret")
	put(t, filepath.Join(dir, "sub", "ok"), "not secret")
	w := openDir(t, dir, WorkspaceOptions{DataDir: data, Unconfined: true})
	for _, tool := range Builtin() {
		a, takesPaths := pathTools[tool.Name]
		if !takesPaths || !tool.ReadOnly {
			continue
		}
		for _, path := range []string{".", "sub"} {
			input := maps.Clone(a.other)
			if input == nil {
				input = args{}
			}
			for _, name := range a.paths {
				input[name] = path
			}
			for _, name := range a.globs {
				input[name] = "**"
			}
			got := use(t, w, tool.Name, input).PlainText()
			for _, secret := range []string{"hidden", "token", "top secret"} {
				if strings.Contains(got, secret) {
					t.Errorf("%s with %v shows %q of the data directory:\n%s", tool.Name, input, secret, got)
				}
			}
		}
	}
}
