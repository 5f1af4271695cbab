package schemas

import (
	"bytes"
	"encoding/json"
	"slices"
)

const (
	// maxExampleDepth is the maximum depth of an example.
	maxExampleDepth = 4
	// maxExample is the maximum size of an example in bytes.
	maxExample = 600
)

// Example returns an example of the value that a schema accepts: the schema's own example if it has
// one, otherwise an object with its required members. It returns nil if the schema accepts any
// value, or if the example would be long.
func Example(raw json.RawMessage) json.RawMessage {
	d := parse(raw)
	if d == nil {
		return nil
	}
	root := d.resolveFirst(d.root)
	if len(root.Type) == 0 && !root.isObject() && given(root) == nil {
		return nil
	}
	value := d.example(root, 0)
	var dense bytes.Buffer
	if len(value) > maxExample || json.Compact(&dense, value) != nil {
		return nil
	}
	return dense.Bytes()
}

// given returns a value that the schema itself names; nil if it names none.
func given(s *schema) json.RawMessage {
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Const != nil:
		return s.Const
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	}
	return nil
}

func (d *document) example(s *schema, depth int) json.RawMessage {
	if value := given(s); value != nil {
		return value
	}
	kind := ""
	if len(s.Type) > 0 {
		kind = s.Type[0]
	}
	if kind == "object" || kind == "" && s.isObject() {
		return d.exampleObject(s, depth)
	}
	switch kind {
	case "array":
		if s.Items == nil || depth >= maxExampleDepth {
			return json.RawMessage("[]")
		}
		return slices.Concat([]byte("["), d.example(d.resolveFirst(s.Items), depth+1), []byte("]"))
	case "integer", "number":
		if s.Minimum != "" {
			return json.RawMessage(s.Minimum)
		}
		return json.RawMessage("1")
	case "boolean":
		return json.RawMessage("true")
	case "string":
		return exampleText(s.Format)
	}
	return json.RawMessage("null")
}

// exampleObject returns an object with the required members of a schema. If a schema requires none,
// the outermost object has the schema's first member.
func (d *document) exampleObject(s *schema, depth int) json.RawMessage {
	object := []byte("{")
	for i, p := range s.Properties {
		first := i == 0 && len(s.Required) == 0 && depth == 0
		if !first && !slices.Contains(s.Required, p.name) || depth >= maxExampleDepth || len(object) > maxExample {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		name, _ := json.Marshal(p.name) // a string can always be encoded
		object = slices.Concat(object, name, []byte(":"), d.example(d.resolveFirst(p.value), depth+1))
	}
	return append(object, '}')
}

func exampleText(format string) json.RawMessage {
	switch format {
	case "date-time":
		return json.RawMessage(`"2026-01-31T12:00:00Z"`)
	case "date":
		return json.RawMessage(`"2026-01-31"`)
	case "email":
		return json.RawMessage(`"ann@example.com"`)
	case "uri":
		return json.RawMessage(`"https://example.com"`)
	case "uuid":
		return json.RawMessage(`"7c9e6679-7425-40de-944b-e07fc1f90ae7"`)
	}
	return json.RawMessage(`"text"`)
}
