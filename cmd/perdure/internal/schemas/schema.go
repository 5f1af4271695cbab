// Package schemas describes JSON Schemas to people who type a value on a command line.
package schemas

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// schema has the keywords that a description uses. A schema that is true or false has none of them.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        types              `json:"type"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Format      string             `json:"format"`
	Enum        []json.RawMessage  `json:"enum"`
	Const       json.RawMessage    `json:"const"`
	Default     json.RawMessage    `json:"default"`
	Examples    []json.RawMessage  `json:"examples"`
	Properties  properties         `json:"properties"`
	Required    []string           `json:"required"`
	Items       *schema            `json:"items"`
	Minimum     json.Number        `json:"minimum"`
	AllOf       []*schema          `json:"allOf"`
	AnyOf       []*schema          `json:"anyOf"`
	OneOf       []*schema          `json:"oneOf"`
	Defs        map[string]*schema `json:"$defs"`
	Definitions map[string]*schema `json:"definitions"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *schema) UnmarshalJSON(raw []byte) error {
	if text := string(bytes.TrimSpace(raw)); text == "true" || text == "false" {
		*s = schema{}
		return nil
	}
	type plain schema
	return json.Unmarshal(raw, (*plain)(s))
}

// types are the values of the keyword "type", which is a name or a list of names.
type types []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *types) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// property is a named member of an object.
type property struct {
	name  string
	value *schema
}

// properties are the properties of an object in the order of their schema.
type properties []property

// UnmarshalJSON implements json.Unmarshaler.
func (p *properties) UnmarshalJSON(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value schema
		if err := d.Decode(&value); err != nil {
			return err
		}
		text, _ := name.(string)
		*p = append(*p, property{text, &value})
	}
	return nil
}

// document is a schema with the definitions to which it refers.
type document struct{ root *schema }

// parse decodes a schema. It returns nil if raw is empty or does not decode as a schema.
func parse(raw json.RawMessage) *document {
	var root schema
	if len(raw) == 0 || json.Unmarshal(raw, &root) != nil {
		return nil
	}
	return &document{&root}
}

// maxRefs is the maximum length of a chain of references.
const maxRefs = 10

const (
	// maxParts is the maximum number of subschemas that are read from each "allOf", "oneOf" and
	// "anyOf".
	maxParts = 20
	// maxJoined is the number of properties at which join adds no further properties to a schema.
	maxJoined = 100
)

// resolve returns s with its reference followed, and with the keywords of its subschemas in
// "allOf", "oneOf" and "anyOf" added. Members from "oneOf" and "anyOf" are optional.
func (d *document) resolve(s *schema) *schema {
	return d.joined(s, func(joined *schema, alternatives []*schema) {
		for _, one := range alternatives {
			part := *d.direct(one)
			part.Required = nil
			joined.join(&part)
		}
	})
}

// resolveFirst is like resolve, but of "oneOf" and "anyOf" it adds only the first subschema. It is
// for examples, which must fit one alternative.
func (d *document) resolveFirst(s *schema) *schema {
	return d.joined(s, func(joined *schema, alternatives []*schema) {
		if len(alternatives) > 0 {
			joined.join(d.direct(alternatives[0]))
		}
	})
}

func (d *document) joined(s *schema, choose func(joined *schema, alternatives []*schema)) *schema {
	for range maxRefs {
		if s == nil || s.Ref == "" {
			break
		}
		s = d.target(s.Ref)
	}
	if s == nil {
		return &schema{}
	}
	joined := *s
	for _, part := range s.AllOf[:min(len(s.AllOf), maxParts)] {
		joined.join(d.direct(part))
	}
	choose(&joined, s.OneOf[:min(len(s.OneOf), maxParts)])
	choose(&joined, s.AnyOf[:min(len(s.AnyOf), maxParts)])
	return &joined
}

// direct follows the reference of a subschema, but adds no keywords of further subschemas.
func (d *document) direct(s *schema) *schema {
	if s != nil && s.Ref != "" {
		s = d.target(s.Ref)
	}
	if s == nil {
		return &schema{}
	}
	return s
}

func (d *document) target(ref string) *schema {
	if ref == "#" {
		return d.root
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return d.root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return d.root.Definitions[name]
	}
	return nil
}

// join adds the keywords of the schema `o` to s, for a value that must fit both.
func (s *schema) join(o *schema) {
	if len(s.Type) == 0 {
		s.Type = o.Type
	}
	if len(s.Enum) == 0 {
		s.Enum = o.Enum
	}
	if s.Const == nil {
		s.Const = o.Const
	}
	if s.Items == nil {
		s.Items = o.Items
	}
	s.Properties, s.Required = slices.Clip(s.Properties), slices.Clip(s.Required)
	for _, p := range o.Properties {
		if len(s.Properties) < maxJoined && !slices.ContainsFunc(s.Properties, func(known property) bool { return known.name == p.name }) {
			s.Properties = append(s.Properties, p)
		}
	}
	for _, name := range o.Required {
		if len(s.Required) < maxJoined && !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
}

// isObject reports whether the value is an object with known members.
func (s *schema) isObject() bool { return len(s.Properties) > 0 }
