package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// validator is a compiled schema, with the names of its top-level fields for error messages.
type validator struct {
	schema *schema.Schema
	fields []string
}

// compiled caches the compiled schemas of tools that New has not created.
var compiled schema.Cache

func compile(raw json.RawMessage) (*validator, error) {
	var top map[string]any
	if err := json.Unmarshal(raw, &top); err != nil {
		return nil, fmt.Errorf("the schema is no JSON object: %w", err)
	}
	if top["type"] != "object" {
		return nil, errors.New("the schema of a tool's arguments must have type object")
	}
	s, err := compiled.Compile(raw)
	if err != nil {
		return nil, fmt.Errorf("the schema does not compile: %w", err)
	}
	v := &validator{schema: s}
	if props, ok := top["properties"].(map[string]any); ok {
		for name := range props {
			v.fields = append(v.fields, name)
		}
		slices.Sort(v.fields)
	}
	return v, nil
}

// Check returns nil if raw is an object that satisfies the schema of the tool. Otherwise it returns an
// error result that names each invalid field. Empty text counts as the object {}.
func (t Tool) Check(raw json.RawMessage) *Result {
	v := t.compiled
	if v == nil {
		var err error
		if v, err = compile(t.Schema); err != nil { // compiled only at the first call
			bad := Errorf("The tool %s cannot be called: %v.", t.Name, err)
			return &bad
		}
	}
	return v.check(raw)
}

func (v *validator) check(raw json.RawMessage) *Result {
	value, err := schema.Parse(orEmpty(raw))
	if schema.OverLimit(err) {
		bad := Errorf("The arguments cannot be checked: the value %v.", err)
		return &bad
	}
	if err != nil {
		bad := Errorf("The arguments are not valid JSON: %v.", err)
		return &bad
	}
	if _, ok := value.(map[string]any); !ok {
		bad := Errorf("The arguments must be a JSON object, got %s.", jsonType(value))
		return &bad
	}
	var invalid *jsonschema.ValidationError
	if err := v.schema.Validate(value); err == nil {
		return nil
	} else if !errors.As(err, &invalid) {
		bad := Errorf("The arguments cannot be checked: the value %v.", err)
		return &bad
	}
	lines := v.explain(invalid)
	if more := len(lines) - maxExplained; more > 0 {
		lines = append(lines[:maxExplained:maxExplained], fmt.Sprintf("and %d more", more))
	}
	bad := Errorf("Invalid arguments:\n- %s", strings.Join(lines, "\n- "))
	return &bad
}

// maxExplained is the maximum number of schema violations that one error result lists.
const maxExplained = 100

// explain returns a line for each innermost cause of the validation error.
func (v *validator) explain(e *jsonschema.ValidationError) []string {
	if len(e.Causes) > 0 {
		var lines []string
		for _, cause := range e.Causes {
			lines = append(lines, v.explain(cause)...)
		}
		return lines
	}
	at := strings.Join(e.InstanceLocation, ".")
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(k.Missing, func(name string) string { return under(at, name) + ": is required" })
	case *kind.AdditionalProperties:
		return each(k.Properties, func(name string) string { return v.unknown(at, name) })
	case *kind.Type:
		return []string{under(at, "") + ": must be " + strings.Join(k.Want, " or ") + ", got " + k.Got}
	}
	// The validation library's message has the form "at '/path': fault".
	_, what, found := strings.Cut(e.Error(), "': ")
	if !found {
		what = e.Error()
	}
	return []string{under(at, "") + ": " + what}
}

func (v *validator) unknown(at, name string) string {
	line := under(at, name) + ": is not a field of this tool"
	if at == "" {
		line += "; its fields are " + strings.Join(v.fields, ", ")
	}
	return line
}

func under(at, name string) string {
	switch {
	case at == "" && name == "":
		return "arguments"
	case at == "":
		return name
	case name == "":
		return at
	}
	return at + "." + name
}

func each(names []string, line func(string) string) []string {
	lines := make([]string, 0, len(names))
	for _, name := range names {
		lines = append(lines, line(name))
	}
	return lines
}

func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "number"
}
