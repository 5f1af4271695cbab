// Package schema compiles JSON Schemas from untrusted authors, and validates values. Because a
// running validation cannot be stopped, its cost is limited in advance: Compile refuses a schema
// over a limit. Validate first computes the maximum number of steps, and refuses a value that would
// need more than MaxSteps.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled schema within the limits. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	graph    *graph
	weight   int
}

// Compile compiles a schema. A *LimitError names the limit that the schema exceeds. Any other error
// means that the text is not a JSON Schema, or that it refers to another document.
func Compile(raw json.RawMessage) (*Schema, error) {
	if err := CheckText(raw); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	patterns := &patterns{}
	compiled, err := compile(doc, patterns)
	if err != nil {
		if patterns.over != nil {
			return nil, patterns.over
		}
		return nil, err
	}
	g := newGraph(compiled)
	if err := g.check(); err != nil {
		return nil, err
	}
	g.replaceCostly()
	return &Schema{compiled: compiled, graph: g, weight: len(raw) + nodeWeight*len(g.nodes) + stepWeight*patterns.total}, nil
}

func compile(doc any, p *patterns) (*jsonschema.Schema, error) {
	const url = "mem:///schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(p.compile)
	if err := compiler.AddResource(url, doc); err != nil {
		return nil, err
	}
	return compiler.Compile(url)
}

// noLoader refuses to load documents, so that a schema cannot read files or URLs. The drafts of
// JSON Schema are part of the library, which does not load them.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema refers only to itself, not to %s", url)
}

// Validate checks a value that Parse returned. The error is a *LimitError if the value needs too
// many steps, and a *jsonschema.ValidationError if it does not match the schema.
func (s *Schema) Validate(value any) error {
	if err := s.affordable(value); err != nil {
		return err
	}
	return s.compiled.Validate(value)
}

// Steps returns an upper bound of the number of steps that Validate needs for a value. It stops
// counting soon after MaxSteps.
func (s *Schema) Steps(value any) int {
	c := counter{graph: s.graph}
	c.visit(s.compiled, value, 0)
	return c.steps
}

func (s *Schema) affordable(value any) error {
	if steps := s.Steps(value); steps > MaxSteps {
		return &LimitError{What: "steps to check the value by its schema", Max: MaxSteps}
	}
	return nil
}

// Parse parses one JSON value for Validate. It returns a *LimitError if the value is nested too
// deeply or contains a number that is too long.
func Parse(raw json.RawMessage) (any, error) {
	if err := checkShape(raw, shape{depth: MaxValueDepth}); err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(raw))
}

// OverLimit reports whether err is a *LimitError, that is, whether a schema or a value exceeds a
// limit.
func OverLimit(err error) bool {
	var over *LimitError
	return errors.As(err, &over)
}
