package agent

import (
	"encoding/json"
	"reflect"

	"github.com/invopop/jsonschema"
)

// Schema is the JSON Schema of a Go type, nil where it has none of use. It holds
// no references, which model providers do not take in the parameters of a tool,
// but for a type that contains itself.
func Schema[T any]() json.RawMessage {
	of := reflect.TypeFor[T]()
	root := of
	for root != nil && root.Kind() == reflect.Pointer {
		root = root.Elem()
	}
	reflector := jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: true,
		DoNotReference: !recursive(root, map[reflect.Type]bool{}),
		ExpandedStruct: root != nil && root.Kind() == reflect.Struct && root.Name() != "",
	}
	var zero T
	raw, err := json.Marshal(reflector.Reflect(&zero))
	if err != nil {
		return nil
	}
	return raw
}

// recursive tells whether a type contains itself.
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
