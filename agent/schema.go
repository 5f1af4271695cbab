package agent

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/invopop/jsonschema"
)

// Schema returns the JSON Schema of a Go type, or nil if the schema cannot be encoded. The schema
// contains references only if the type contains itself, because model providers do not accept
// references in the parameters of a tool.
func Schema[T any]() json.RawMessage {
	t := reflect.TypeFor[T]()
	raw, known := schemas.Load(t)
	if !known {
		raw, _ = schemas.LoadOrStore(t, schemaOf[T]())
	}
	return bytes.Clone(raw.(json.RawMessage))
}

// schemas caches the schemas that Schema has returned, by type. Programs that register the same kinds
// again and again, such as tests, would otherwise spend most of their time on creating schemas.
var schemas sync.Map

func schemaOf[T any]() json.RawMessage {
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

// expandRoot replaces a reference at the root of a schema by the schema that it refers to, because
// model providers expect an object at the root.
func expandRoot(schema *jsonschema.Schema) {
	of, ok := schema.Definitions[strings.TrimPrefix(schema.Ref, "#/$defs/")]
	if !ok {
		return
	}
	root := *of
	root.Version, root.Definitions = schema.Version, schema.Definitions
	*schema = root
}

// recursive reports whether the type t contains itself. The parameter `above` has the types that
// contain t.
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
