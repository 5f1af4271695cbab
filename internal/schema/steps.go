package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// counter counts the steps of a validation. It takes every branch, although the validation may stop
// at the first error, so it visits at least everything that the validation visits. It stops
// counting when the limit is exceeded.
type counter struct {
	graph *graph
	steps int
}

func (c *counter) over() bool { return c.steps > MaxSteps }

// visit counts the steps of applying s to a value at the given depth.
func (c *counter) visit(s *jsonschema.Schema, value any, depth int) {
	if c.add(1 + depth/16); c.over() || s.Bool != nil {
		return // a validation error copies the path to its value, so depth costs steps
	}
	c.add(c.graph.compared[s])
	switch v := value.(type) {
	case map[string]any:
		c.object(s, v, depth)
	case []any:
		c.array(s, v, depth)
	case string:
		c.text(s, v)
	case json.Number:
		c.add(c.graph.numeric[s] * (4 + digits(v)/16))
	}
	for _, next := range inPlace(s) {
		if c.over() {
			return
		}
		c.visit(next, value, depth)
	}
}

func (c *counter) add(steps int) { c.steps += min(steps, MaxSteps+1) }

func (c *counter) object(s *jsonschema.Schema, members map[string]any, depth int) {
	c.add(len(s.Required) + dependencies(s) + len(members))
	for name, value := range members {
		if c.over() {
			return
		}
		seen := c.member(s, name, value, depth+1)
		if s.UnevaluatedProperties != nil && !seen {
			c.visit(s.UnevaluatedProperties, value, depth+1)
		}
		if s.PropertyNames != nil {
			c.add(1)
			c.visit(s.PropertyNames, name, depth)
		}
	}
	if c.graph.unevaluated {
		c.add(len(members))
	}
}

// member counts the steps of one member, and reports whether any schema applies to the member.
func (c *counter) member(s *jsonschema.Schema, name string, value any, depth int) bool {
	seen := false
	if sub, ok := s.Properties[name]; ok {
		seen = true
		c.visit(sub, value, depth)
	}
	for expression, sub := range s.PatternProperties {
		if c.match(expression, name); c.over() {
			return true
		}
		if expression.MatchString(name) {
			seen = true
			c.visit(sub, value, depth)
		}
	}
	if s.AdditionalProperties == nil || seen {
		return seen
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		c.visit(sub, value, depth)
	}
	return true
}

func dependencies(s *jsonschema.Schema) int {
	n := len(s.Dependencies) + len(s.DependentRequired) + len(s.DependentSchemas)
	for _, either := range s.Dependencies {
		if names, ok := either.([]string); ok {
			n += len(names)
		}
	}
	for _, names := range s.DependentRequired {
		n += len(names)
	}
	return n
}

func (c *counter) array(s *jsonschema.Schema, items []any, depth int) {
	if c.graph.unevaluated {
		c.add(len(items))
	}
	if c.graph.unique[s] {
		c.weigh(items)
	}
	for i, item := range items {
		if c.over() {
			return
		}
		if sub := itemSchema(s, i); sub != nil {
			c.visit(sub, item, depth+1)
		} else if s.UnevaluatedItems != nil {
			c.visit(s.UnevaluatedItems, item, depth+1)
		}
		if s.Contains != nil {
			c.visit(s.Contains, item, depth+1)
		}
	}
}

// itemSchema returns the schema that s applies to the item at index i of an array; nil if it
// applies none.
func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	prefix, rest := s.PrefixItems, s.Items2020
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		prefix = items
		rest, _ = s.AdditionalItems.(*jsonschema.Schema)
	}
	if i < len(prefix) {
		return prefix[i]
	}
	return rest
}

// weigh counts the steps that are needed to read a value and all values nested in it.
func (c *counter) weigh(value any) {
	if c.add(1); c.over() {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			c.add(1 + len(name)/textStep)
			c.weigh(member)
		}
	case []any:
		for _, item := range v {
			c.weigh(item)
		}
	case string:
		c.add(len(v) / textStep)
	case json.Number:
		c.add(4 + digits(v)/16)
	}
}

// digits returns the approximate number of digits of a number's exact fraction.
func digits(n json.Number) int {
	at := strings.LastIndexAny(n.String(), "eE")
	if at < 0 {
		return len(n)
	}
	exponent, err := strconv.Atoi(strings.TrimLeft(n.String()[at+1:], "+-"))
	if err != nil {
		return MaxSteps
	}
	return len(n) + exponent
}

// textStep is the number of bytes that one step reads or compares. matchStep is the number of
// instructions of a regular expression that one step executes.
const (
	textStep  = 64
	matchStep = 16
)

func (c *counter) text(s *jsonschema.Schema, text string) {
	if s.MinLength != nil || s.MaxLength != nil || s.Enum != nil || s.Const != nil {
		c.add(len(text) / textStep)
	}
	if s.Format != nil {
		c.add(len(text) / 4)
		if s.Format.Name == "regex" {
			c.add(MaxPatternSteps / 2) // the value itself is compiled as a regular expression
		}
	}
	if s.Pattern != nil {
		c.match(s.Pattern, text)
	}
}

func (c *counter) match(expression jsonschema.Regexp, text string) {
	c.add(1 + len(text)*stepsOf(expression)/matchStep)
}

// sizeOf returns the approximate number of steps of a comparison with value.
func sizeOf(value any) int {
	c := counter{}
	c.weigh(value)
	return c.steps
}
