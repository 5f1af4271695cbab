package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Check validates content. Errors: invalid_argument. The error names the invalid member of the
// content; the name begins with `field`.
func (s *Schema) Check(field string, content json.RawMessage) error {
	value, err := Parse(content)
	if err == nil {
		err = s.Validate(value)
	} else if !OverLimit(err) {
		return perdure.FieldErrorf(field, "%v", err)
	}
	if OverLimit(err) {
		return perdure.FieldErrorf(field, "%v", err)
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	at := strings.Join(append([]string{field}, invalid.InstanceLocation...), ".")
	return perdure.FieldErrorf(Brief(at), "%s", Brief(invalid.BasicOutput().Error.String()))
}

// MaxSaid is the maximum number of bytes of a schema or a value that an error message quotes.
const MaxSaid = 500

// Brief shortens a text to MaxSaid bytes, because its author may not be trusted.
func Brief(text string) string {
	if len(text) <= MaxSaid {
		return text
	}
	end := MaxSaid
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
