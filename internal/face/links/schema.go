package links

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/perdure/perdure/internal/visible"
)

// eachMember calls use for each member of a JSON object, in its order. It does nothing for another
// value.
func eachMember(object json.RawMessage, use func(name string, value json.RawMessage)) {
	d := json.NewDecoder(bytes.NewReader(object))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return
		}
		use(name.(string), value) // a name is a string
	}
}

// fieldOf returns the field of a property, and reports whether it is a plain value.
func fieldOf(name string, raw json.RawMessage, required []string) (field, bool) {
	var p property
	if json.Unmarshal(raw, &p) != nil {
		return field{}, false
	}
	f := field{Name: name, Label: p.Title, Description: p.Description, Required: slices.Contains(required, name), Long: p.MaxLength > longText}
	f.Type, _ = p.Type.(string)
	f.Label, f.Description = visible.Inline(cmp.Or(f.Label, name)), visible.Text(f.Description)
	if !slices.Contains([]string{"string", "integer", "number", "boolean"}, f.Type) {
		return f, false
	}
	for _, option := range p.Enum {
		text, ok := option.(string)
		if !ok || f.Type != "string" {
			return f, false
		}
		f.Options = append(f.Options, text)
	}
	f.Given = plainText(p.Default)
	return f, true
}

// plainText returns the text of a value in a field; "" if there is none.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
