package kinds

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/schema"
)

// Schemas compiles and caches the input schemas of kinds. Any worker may register a schema, and a
// validation cannot be stopped. Therefore a schema that exceeds a limit of the schema package is
// never used for a validation.
type Schemas struct {
	cache schema.Cache
}

// CheckRegistered refuses a schema of a kind that is invalid or over a limit. Error:
// invalid_argument.
func (s *Schemas) CheckRegistered(field, kind string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	_, err := s.cache.Compile(raw)
	switch {
	case schema.OverLimit(err):
		return perdure.FieldErrorf(field, "of %s %v; make it smaller", kind, err)
	case err != nil:
		return perdure.FieldErrorf(field, "of %s is no JSON Schema that is taken here: %s", kind, schema.Brief(err.Error()))
	}
	return nil
}

// Check compares content with the input schema of a kind. The error names the invalid member of the
// content. If the schema exceeds a limit, because an older server has stored it, Check refuses all
// content until a worker registers a smaller schema.
func (s *Schemas) Check(field string, spec perdure.KindSpec, content json.RawMessage) error {
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
	return compiled.Check(field, content)
}

// Fits reports whether content fits a schema of an approval rule. The parameter `of` is the schema.
func (s *Schemas) Fits(of, content json.RawMessage) (bool, error) {
	fits, err := s.cache.Fits(of, content)
	if err != nil {
		return false, &perdure.Error{Code: perdure.Internal, Message: "the schema of an approval rule does not compile", Err: err}
	}
	return fits, nil
}
