package agent

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// Schema returns the JSON Schema of a Go type, nil if it has no useful one. The schema has no
// references, which model providers do not accept in the parameters of a tool. The exception is a
// type that contains itself.
func Schema[T any]() json.RawMessage {
	root := reflect.TypeFor[T]()
	for root != nil && root.Kind() == reflect.Pointer {
		root = root.Elem()
	}
	loops := recursive(root, map[reflect.Type]bool{})
	reflector := jsonschema.Reflector{Anonymous: true, AllowAdditionalProperties: true, DoNotReference: !loops}
	var zero T
	schema := reflector.Reflect(&zero)
	if loops {
		expandRoot(schema)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	return raw
}

// expandRoot replaces a reference at the root with its target. Every reader of tool schemas accepts
// an object at the root.
func expandRoot(schema *jsonschema.Schema) {
	of, ok := schema.Definitions[strings.TrimPrefix(schema.Ref, "#/$defs/")]
	if !ok {
		return
	}
	root := *of
	root.Version, root.Definitions = schema.Version, schema.Definitions
	*schema = root
}

// recursive reports whether a type contains itself.
func recursive(t reflect.Type, above map[reflect.Type]bool) bool {
	if t == nil {
		return false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		if t.Name() == "" {
			return recursive(t.Elem(), above)
		}
	case reflect.Struct:
	default:
		return false
	}
	if above[t] {
		return true
	}
	above[t] = true
	defer delete(above, t)
	if t.Kind() != reflect.Struct {
		return recursive(t.Elem(), above)
	}
	for i := range t.NumField() {
		if recursive(t.Field(i).Type, above) {
			return true
		}
	}
	return false
}
