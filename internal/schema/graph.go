package schema

import (
	"errors"
	"math/big"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// graph contains a compiled schema, and all schemas to which it refers, directly or indirectly.
type graph struct {
	nodes []*jsonschema.Schema
	// compared is the cost in steps of comparing a value with the enum and const of a schema.
	compared map[*jsonschema.Schema]int
	// numeric is the number of keywords of a schema that read a number as a fraction.
	numeric map[*jsonschema.Schema]int
	// unique contains the schemas with uniqueItems. Package schema replaces the library's check of
	// that keyword.
	unique map[*jsonschema.Schema]bool
	// unevaluated reports whether some schema uses an "unevaluated" keyword. If so, the library
	// copies the names of members at each step.
	unevaluated bool
}

var (
	errLoop    = errors.New("refers to itself without going into its value")
	errDynamic = errors.New("has a $dynamicRef or $recursiveRef, which is not taken; use $ref")
)

func newGraph(root *jsonschema.Schema) *graph {
	g := &graph{compared: map[*jsonschema.Schema]int{}, numeric: map[*jsonschema.Schema]int{}, unique: map[*jsonschema.Schema]bool{}}
	seen := map[*jsonschema.Schema]bool{root: true}
	g.nodes = append(g.nodes, root)
	for i := 0; i < len(g.nodes); i++ {
		s := g.nodes[i]
		g.note(s)
		for _, next := range append(inPlace(s), inside(s)...) {
			if !seen[next] {
				seen[next] = true
				g.nodes = append(g.nodes, next)
			}
		}
	}
	return g
}

func (g *graph) note(s *jsonschema.Schema) {
	cost := 0
	if s.Enum != nil {
		cost += sizeOf(s.Enum.Values)
	}
	if s.Const != nil {
		cost += sizeOf(*s.Const)
	}
	if cost > 0 {
		g.compared[s] = cost
	}
	g.unique[s] = s.UniqueItems
	if s.Types != nil && slices.Contains(s.Types.ToStrings(), "integer") {
		g.numeric[s]++
	}
	for _, bound := range []*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf} {
		if bound != nil {
			g.numeric[s]++
		}
	}
	g.unevaluated = g.unevaluated || s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil
}

// inPlace returns the subschemas of s that apply to the same value as s itself.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	all := some(s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.ContentSchema)
	if s.DynamicRef != nil {
		all = append(all, some(s.DynamicRef.Ref)...)
	}
	all = append(all, s.AllOf...)
	all = append(all, s.AnyOf...)
	all = append(all, s.OneOf...)
	for _, dependent := range s.Dependencies {
		if sub, ok := dependent.(*jsonschema.Schema); ok {
			all = append(all, sub)
		}
	}
	for _, dependent := range s.DependentSchemas {
		all = append(all, dependent)
	}
	return all
}

// inside returns the schemas that s applies to the members, the items and the member names of its
// value.
func inside(s *jsonschema.Schema) []*jsonschema.Schema {
	all := some(s.PropertyNames, s.Contains, s.Items2020, s.UnevaluatedItems, s.UnevaluatedProperties)
	all = append(all, s.PrefixItems...)
	for _, sub := range s.Properties {
		all = append(all, sub)
	}
	for _, sub := range s.PatternProperties {
		all = append(all, sub)
	}
	for _, either := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch sub := either.(type) {
		case *jsonschema.Schema:
			all = append(all, some(sub)...)
		case []*jsonschema.Schema:
			all = append(all, sub...)
		}
	}
	return all
}

func some(all ...*jsonschema.Schema) []*jsonschema.Schema {
	var there []*jsonschema.Schema
	for _, s := range all {
		if s != nil {
			there = append(there, s)
		}
	}
	return there
}

// check returns an error if the number of steps of a validation has no bound, or if even the
// smallest value needs more steps than the limit.
func (g *graph) check() error {
	for _, s := range g.nodes {
		if s.DynamicRef != nil || s.RecursiveRef != nil {
			return errDynamic
		}
	}
	e := expansion{done: map[*jsonschema.Schema]reach{}}
	for _, s := range g.nodes {
		if _, err := e.reach(s); err != nil {
			return err
		}
	}
	return nil
}

// expansion counts, for each schema, the schemas that apply to the same value.
type expansion struct {
	done map[*jsonschema.Schema]reach
}

// reach describes a schema together with all schemas that it applies to the same value, directly or
// indirectly: their number, and the length of their longest chain. A zero reach means that the
// count is in progress.
type reach struct{ schemas, chain int }

func (e *expansion) reach(s *jsonschema.Schema) (reach, error) {
	if known, begun := e.done[s]; begun {
		if known.schemas == 0 {
			return known, errLoop
		}
		return known, nil
	}
	e.done[s] = reach{}
	sum := reach{schemas: 1, chain: 1}
	for _, next := range inPlace(s) {
		further, err := e.reach(next)
		if err != nil {
			return sum, err
		}
		sum.schemas += further.schemas
		sum.chain = max(sum.chain, further.chain+1)
		if err := sum.check(); err != nil {
			return sum, err
		}
	}
	e.done[s] = sum
	return sum, nil
}

func (r reach) check() error {
	switch {
	case r.schemas > MaxExpanded:
		return &LimitError{What: "schemas that apply to one value, each $ref followed", Max: MaxExpanded}
	case r.chain > MaxChain:
		return &LimitError{What: "schemas in a chain that lead to one another for one value", Max: MaxChain}
	}
	return nil
}

// replaceCostly replaces those checks of the library whose cost is not bounded.
func (g *graph) replaceCostly() {
	for _, s := range g.nodes {
		if s.Format != nil && s.Format.Name == "regex" {
			s.Format = &jsonschema.Format{Name: "regex", Validate: checkRegex}
		}
		if s.UniqueItems {
			s.UniqueItems = false
			s.Extensions = append(s.Extensions, uniqueItems{})
		}
	}
}
