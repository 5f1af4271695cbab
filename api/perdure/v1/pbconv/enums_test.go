package pbconv

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestEveryConstantHasAnEnumNumber checks that each constant of the root package whose type is in
// the map `tables` has an enum number that maps back to the constant. A constant without a number
// would be sent as "".
func TestEveryConstantHasAnEnumNumber(t *testing.T) {
	tables := map[string]func(string) bool{
		"Status":          has(statuses),
		"PersistenceMode": has(persistenceModes),
		"WakeReason":      has(wokes),
		"EntryType":       has(entryTypes),
		"Role":            has(roles),
		"SignalState":     has(signalStates),
		"TaskStatus":      has(taskStatuses),
		"OnLost":          has(onLosts),
		"TaskCondition":   has(taskConditions),
		"EventType":       has(eventTypes),
		"BlockReason":     has(blockReasons),
		"OutcomeKind":     has(outcomeKinds),
		"ParkedState":     has(parkedStates),
		"Code":            has(codes),
	}
	seen := map[string]int{}
	for _, c := range constants(t, "../../../..") {
		known, ok := tables[c.kind]
		if !ok || c.value == string(perdure.EventWebhookTest) { // that event is in no log
			continue
		}
		seen[c.kind]++
		if !known(c.value) {
			t.Errorf("%s %q has no number", c.kind, c.value)
		}
	}
	for kind := range tables {
		if seen[kind] == 0 {
			t.Errorf("no constant of type %s was found", kind)
		}
	}
}

func TestEveryCodeHasAStatus(t *testing.T) {
	for code := range codes.to {
		if _, ok := statusOf[code]; !ok {
			t.Errorf("%s has no gRPC status", code)
		}
	}
}

func has[D ~string, P ~int32](e enum[D, P]) func(string) bool {
	return func(word string) bool {
		number, ok := e.to[D(word)]
		return ok && e.from[number] == D(word)
	}
}

type constant struct{ kind, value string }

// constants returns the constants of string types that the package in the folder dir declares.
func constants(t *testing.T, dir string) []constant {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []constant
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				found = append(found, constantOf(spec)...)
			}
			return true
		})
	}
	return found
}

func constantOf(spec *ast.ValueSpec) []constant {
	kind, ok := spec.Type.(*ast.Ident)
	if !ok || len(spec.Values) != 1 {
		return nil
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return nil
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return nil
	}
	return []constant{{kind.Name, value}}
}
