package tool

import (
	"context"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// Builtin returns the six built-in tools: read-file, write-file, edit-file, bash, grep, find.
func Builtin() []Tool {
	all := []Tool{readFile(), writeFile(), editFile(), bash(), grep(), find()}
	for i, t := range all {
		all[i] = inWorkspace(t)
	}
	return all
}

// inWorkspace returns the tool t with a Run function that refuses calls without a workspace.
func inWorkspace(t Tool) Tool {
	run := t.Run
	t.Run = func(ctx context.Context, call *Call) (Result, error) {
		if call.Workspace == nil {
			return Errorf("%s cannot be used: no workspace is configured here.", t.Name), nil
		}
		return run(ctx, call)
	}
	return t
}

// Lookup returns those built-in tools that have the given names, in the order of the names. Error:
// invalid_argument if a name is unknown or occurs twice.
func Lookup(names []string) (Set, error) {
	known, err := NewSet(Builtin()...)
	if err != nil {
		return Set{}, err
	}
	return known.Pick(names)
}

// Infos describes tools for clients, in the given order.
func Infos(tools ...Tool) []perdure.ToolInfo {
	all := make([]perdure.ToolInfo, len(tools))
	for i, t := range tools {
		all[i] = perdure.ToolInfo{Name: t.Name, Description: t.Description, InputSchema: t.Schema, ReadOnly: t.ReadOnly, Network: t.Network}
	}
	return all
}

// Set is an ordered collection of tools with different names. The zero Set has no tools.
type Set struct {
	names  []string
	byName map[string]Tool
}

// NewSet returns a Set of the tools, in this order. Error: invalid_argument if a tool has no name,
// or two tools have the same name.
func NewSet(tools ...Tool) (Set, error) {
	s := Set{byName: make(map[string]Tool, len(tools))}
	for _, t := range tools {
		if t.Name == "" {
			return Set{}, perdure.FieldErrorf("tools", "a tool has no name")
		}
		if _, twice := s.byName[t.Name]; twice {
			return Set{}, perdure.FieldErrorf("tools", "%s is given twice", t.Name)
		}
		s.names = append(s.names, t.Name)
		s.byName[t.Name] = t
	}
	return s, nil
}

// Pick returns those tools of the set that have the given names, in the order of the names. Error:
// invalid_argument if a name is unknown or occurs twice.
func (s Set) Pick(names []string) (Set, error) {
	picked := make([]Tool, 0, len(names))
	for _, name := range names {
		t, ok := s.byName[name]
		if !ok {
			return Set{}, perdure.FieldErrorf("tools", "there is no tool %q; known are %s", name, strings.Join(s.names, ", "))
		}
		picked = append(picked, t)
	}
	return NewSet(picked...)
}

// Names returns the names of the tools in the order of the set.
func (s Set) Names() []string { return slices.Clone(s.names) }

// Get returns the tool with the given name. The bool is false if the set has no such tool.
func (s Set) Get(name string) (Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// Tools returns the tools in the order of the set.
func (s Set) Tools() []Tool {
	tools := make([]Tool, 0, len(s.names))
	for _, name := range s.names {
		tools = append(tools, s.byName[name])
	}
	return tools
}
