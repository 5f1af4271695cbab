package links

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/perdure/perdure/internal/visible"
)

// eachMember calls the function `use` for each member of a JSON object, in order. It does nothing
// if the JSON value is not an object.
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
		use(name.(string), value) // the name of a member is always a string
	}
}

// fieldOf returns the form field for one property of an answer's schema. It returns false if the
// property is not a text, a number or a boolean.
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

// plainText returns a JSON value as the text of a form field; "" if there is no value.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
