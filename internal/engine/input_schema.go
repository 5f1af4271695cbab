package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// inputSchemas are the schemas of kinds, compiled. Workers of any org write them, and
// a validation cannot be stopped: what is over the limits of the schema package never
// runs.
type inputSchemas struct {
	cache schema.Cache
}

// checkRegistered refuses a schema that is none, or over a limit.
func (s *inputSchemas) checkRegistered(field string, spec perdure.KindSpec) error {
	if len(spec.InputSchema) == 0 {
		return nil
	}
	_, err := s.cache.Compile(spec.InputSchema)
	switch {
	case schema.OverLimit(err):
		return perdure.FieldErrorf(field, "of %s %v; make it smaller", spec.Kind, err)
	case err != nil:
		return perdure.FieldErrorf(field, "of %s is no JSON Schema that is taken here: %s", spec.Kind, brief(err.Error()))
	}
	return nil
}

// check checks content by the schema of a kind; the error names the member at fault.
// A schema over a limit has been stored by an older server: it is not run, and the
// kind takes no input until a worker registers another.
func (s *inputSchemas) check(field string, spec perdure.KindSpec, content json.RawMessage) error {
	if len(spec.InputSchema) == 0 {
		return nil
	}
	compiled, err := s.cache.Compile(spec.InputSchema)
	if schema.OverLimit(err) {
		return perdure.FieldErrorf("kind", "%s cannot be started: its input schema %v; a worker has to register a smaller one", spec.Kind, err)
	}
	if err != nil {
		return &perdure.Error{Code: perdure.Internal, Message: "a registered schema does not compile", Err: err}
	}
	value, err := schema.Parse(content)
	if err == nil {
		err = compiled.Validate(value)
	} else if !schema.OverLimit(err) {
		return perdure.FieldErrorf(field, "%v", err)
	}
	return schemaError(field, err)
}

func schemaError(field string, err error) error {
	if schema.OverLimit(err) {
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
	return perdure.FieldErrorf(brief(at), "%s", brief(invalid.BasicOutput().Error.String()))
}

// maxSaid bounds what an error repeats of a schema or a value.
const maxSaid = 500

// brief shortens a text that others chose.
func brief(text string) string {
	if len(text) <= maxSaid {
		return text
	}
	end := maxSaid
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
