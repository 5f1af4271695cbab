package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// doubled returns a short schema that would apply 2^n schemas to any value.
func doubled(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object"}`, n))
	return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + `}}`
}

func nested(n int, open, inner, end string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

func chain(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d"}`, i, i+1))
	}
	return `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(defs, ",") + fmt.Sprintf(`,"d%d":true}}`, n)
}

func TestASchemaOverALimitIsRefused(t *testing.T) {
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	for name, raw := range map[string]string{
		"size":              `{"description":"` + strings.Repeat("a", MaxBytes) + `"}`,
		"depth":             nested(1000, `{"not":`, `{}`, `}`),
		"depth of arrays":   `{"enum":` + nested(MaxDepth, "[", "", "]") + `}`,
		"nodes":             `{"anyOf":[` + many(MaxNodes, `{}`) + `]}`,
		"booleans":          `{"anyOf":[` + many(MaxNodes, `true`) + `]}`,
		"anchors":           `{"allOf":[` + many(MaxAnchors+1, `{"$anchor":"a"}`) + `]}`,
		"ids of draft 4":    `{"$schema":"http://json-schema.org/draft-04/schema#","allOf":[` + many(MaxAnchors+1, `{"id":"a"}`) + `]}`,
		"refs":              `{"anyOf":[` + many(MaxRefs+1, `{"$ref":"#/x"}`) + `],"x":{}}`,
		"refs, draft 7":     `{"anyOf":[` + many(MaxRefs+1, `{"$ref":"#/$defs/a"}`) + `],"$defs":{"a":{}},"$schema":"http://json-schema.org/draft\\u002d07/schema#"}`,
		"expansion":         doubled(35),
		"chain":             chain(MaxChain + 1),
		"pattern's length":  `{"pattern":"` + strings.Repeat("a", MaxPattern+1) + `"}`,
		"pattern's steps":   `{"pattern":"` + strings.Repeat("a{1000}", 20) + `"}`,
		"patterns together": `{"anyOf":[{"pattern":"a{1000}"},{"pattern":"` + strings.Repeat("b{1000}", 16) + `"}]}`,
		"names' patterns":   `{"patternProperties":{"` + strings.Repeat("a{1000}", 20) + `":{}}}`,
		"pattern, draft 7":  `{"$schema":"http://json-schema.org/draft-07/schema#","pattern":"` + strings.Repeat("a{1000}", 20) + `"}`,
		"digits":            `{"minimum":` + strings.Repeat("9", MaxNumber+1) + `}`,
		"exponent":          `{"minimum":1e999999}`,
		"small exponent":    `{"multipleOf":1e-999999}`,
		"large exponent":    `{"minimum":1e99999999999999999999}`,
	} {
		_, err := Compile(json.RawMessage(raw))
		if !OverLimit(err) {
			t.Errorf("%s: a schema of %d bytes gave %v", name, len(raw), err)
		}
	}
	for name, raw := range map[string]string{
		"loop":         `{"$ref":"#"}`,
		"loop of two":  `{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"not":{"$ref":"#"}}}}`,
		"dynamic":      `{"properties":{"a":{"$dynamicRef":"#n"}},"$dynamicAnchor":"n"}`,
		"metaschema":   `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`,
		"no JSON":      `{`,
		"nothing":      ``,
		"two values":   `{} {}`,
		"a file":       `{"$ref":"file:///etc/passwd"}`,
		"not a schema": `{"type":7}`,
	} {
		if s, err := Compile(json.RawMessage(raw)); err == nil {
			t.Errorf("%s: compiled to %v", name, s)
		}
	}
}

// TestOrdinarySchemasAreTaken checks that ordinary schemas are accepted, even close to the limits.
func TestOrdinarySchemasAreTaken(t *testing.T) {
	for name, raw := range map[string]string{
		"tree":      `{"$defs":{"n":{"type":"object","properties":{"l":{"$ref":"#/$defs/n"},"r":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`,
		"expansion": doubled(8),
		"chain":     chain(MaxChain - 2),
		"depth":     nested(MaxDepth-1, `{"not":`, `{}`, `}`),
		"draft 4":   `{"$schema":"http://json-schema.org/draft-04/schema#","id":"a","properties":{"id":{"type":"string"}}}`,
		"draft 7":   `{"$ref":"http://json-schema.org/draft-07/schema#"}`,
		"refs":      `{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/a"},`, 400), ",") + `],"$defs":{"a":{}}}`,
		"pattern":   `{"pattern":"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"}`,
	} {
		if _, err := Compile(json.RawMessage(raw)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAValueThatTakesTooManyStepsIsRefused checks schemas whose cost depends on the value. The
// schemas are accepted, and expensive values are refused.
func TestAValueThatTakesTooManyStepsIsRefused(t *testing.T) {
	spread := `{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`
	for name, c := range map[string]struct{ schema, value string }{
		"doubled by depth":   {spread, nested(40, "[", "", "]")},
		"long list":          {`{"items":{"type":"integer"}}`, "[" + strings.TrimSuffix(strings.Repeat("1,", 1<<18), ",") + "]"},
		"long text":          {`{"pattern":"` + strings.Repeat("(a|b)*", 50) + `c"}`, `"` + strings.Repeat("a", 1<<20) + `"`},
		"long names":         {`{"patternProperties":{"` + strings.Repeat("(a|b)*", 50) + `c":{}}}`, `{"` + strings.Repeat("a", 1<<20) + `":1}`},
		"items of many":      {`{"items":{"enum":[` + strings.TrimSuffix(strings.Repeat(`[1],`, 2000), ",") + `,2]}}`, "[" + strings.TrimSuffix(strings.Repeat("[1],", 2000), ",") + "]"},
		"unevaluated":        {`{"unevaluatedProperties":false,"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"maxProperties":9999999},`, 1000), ",") + `]}`, object(2000)},
		"format of patterns": {`{"$schema":"http://json-schema.org/draft-07/schema#","items":{"format":"regex"}}`, "[" + strings.TrimSuffix(strings.Repeat(`"a{1000}",`, 200), ",") + "]"},
	} {
		s, err := Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		value, err := Parse(json.RawMessage(c.value))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := s.Validate(value); !OverLimit(err) {
			t.Errorf("%s: a value of %d bytes gave %v after %d steps", name, len(c.value), err, s.Steps(value))
		}
	}
}

func object(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"m%d":1`, i))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestAValueOutOfShapeIsRefused(t *testing.T) {
	for name, raw := range map[string]string{
		"depth":    nested(MaxValueDepth+1, "[", "", "]"),
		"digits":   `{"a":[` + strings.Repeat("1", MaxNumber+1) + `]}`,
		"exponent": `[1e1000000]`,
	} {
		if _, err := Parse(json.RawMessage(raw)); !OverLimit(err) {
			t.Errorf("%s gave %v", name, err)
		}
	}
	for _, raw := range []string{`1e308`, `-1.5E-308`, nested(MaxValueDepth, "[", "", "]"), `{"id":"a"}`} {
		if _, err := Parse(json.RawMessage(raw)); err != nil {
			t.Errorf("%s gave %v", raw, err)
		}
	}
}

// TestUniqueItemsComparesByKey checks that this package's implementation of uniqueItems finds items
// with the same value, such as 1 and 1.0, and accepts items that only look alike.
func TestUniqueItemsComparesByKey(t *testing.T) {
	s, err := Compile(json.RawMessage(`{"uniqueItems":true}`))
	if err != nil {
		t.Fatal(err)
	}
	for raw, unique := range map[string]bool{
		`[1,1.0]`: false, `[1,-1]`: true, `[1,"1"]`: true, `["a","a"]`: false, `[null,null]`: false, `[true,false,"true"]`: true,
		`[{"a":1,"b":2},{"b":2,"a":1e0}]`: false, `[["a","b"],["ab",""]]`: true, `[["a"],"a"]`: true, `[[],{}]`: true, `{}`: true,
		`[["a\u0004b"],["a","b"]]`: true, `[10,1e1]`: false, `["#1:1",1]`: true,
	} {
		value, err := Parse(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Validate(value) == nil; got != unique {
			t.Errorf("%s is unique: %t", raw, got)
		}
	}
}

// TestEverySubschemaIsCounted checks that the count of steps visits each field of the library's
// Schema that contains schemas. It fails if a new version of the library has another such field.
func TestEverySubschemaIsCounted(t *testing.T) {
	schemas := reflect.TypeFor[*jsonschema.Schema]()
	uncounted := map[string]string{"resource": "the root of the document", "dynamicAnchors": "reached by $dynamicRef alone, which is refused"}
	fields := 0
	of := reflect.TypeFor[jsonschema.Schema]()
	for i := range of.NumField() {
		f := of.Field(i)
		var values []any
		marker := &jsonschema.Schema{}
		switch {
		case uncounted[f.Name] != "":
			continue
		case f.Type == schemas:
			values = []any{marker}
		case f.Type.Kind() == reflect.Slice && f.Type.Elem() == schemas:
			values = []any{[]*jsonschema.Schema{marker}}
		case f.Type == reflect.TypeFor[map[string]*jsonschema.Schema]():
			values = []any{map[string]*jsonschema.Schema{"a": marker}}
		case f.Type == reflect.TypeFor[map[jsonschema.Regexp]*jsonschema.Schema]():
			values = []any{map[jsonschema.Regexp]*jsonschema.Schema{nil: marker}}
		case f.Type == reflect.TypeFor[*jsonschema.DynamicRef]():
			values = []any{&jsonschema.DynamicRef{Ref: marker}}
		case f.Name == "Dependencies":
			values = []any{map[string]any{"a": marker}}
		case f.Name == "Items":
			values = []any{marker, []*jsonschema.Schema{marker}}
		case f.Type == reflect.TypeFor[any]():
			values = []any{marker}
		case holds(f.Type, schemas, map[reflect.Type]bool{}):
			t.Errorf("%s holds schemas, and is not walked", f.Name)
		}
		for _, v := range values {
			fields++
			s := &jsonschema.Schema{}
			reflect.ValueOf(s).Elem().FieldByName(f.Name).Set(reflect.ValueOf(v))
			if n := len(inPlace(s)) + len(inside(s)); n != 1 {
				t.Errorf("%s is walked %d times", f.Name, n)
			}
		}
	}
	if fields < 25 {
		t.Errorf("only %d fields hold schemas", fields)
	}
}

func holds(t, what reflect.Type, seen map[reflect.Type]bool) bool {
	if t == what {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return t != reflect.TypeFor[*big.Rat]() && holds(t.Elem(), what, seen)
	case reflect.Map:
		return holds(t.Key(), what, seen) || holds(t.Elem(), what, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if holds(t.Field(i).Type, what, seen) {
				return true
			}
		}
	}
	return false
}

// visits is a jsonschema.SchemaExt that counts how often the library applies a schema.
type visits struct{ n int }

func (v *visits) Validate(*jsonschema.ValidatorContext, any) { v.n++ }

// TestStepsBoundTheValidation checks, for random schemas and values, that the computed number of
// steps is never less than the number of applied schemas.
func TestStepsBoundTheValidation(t *testing.T) {
	compiled := 0
	rapid.Check(t, func(t *rapid.T) {
		s, err := Compile(drawSchema(t))
		if err != nil {
			return
		}
		compiled++
		v := &visits{}
		for _, node := range s.graph.nodes {
			node.Extensions = append(node.Extensions, v)
		}
		value, err := Parse(drawValue(t, 4))
		if err != nil {
			t.Fatal(err)
		}
		steps := s.Steps(value)
		if steps > MaxSteps {
			return
		}
		if err := s.compiled.Validate(value); err != nil && !errors.As(err, new(*jsonschema.ValidationError)) {
			t.Fatal(err)
		}
		if v.n > steps {
			t.Fatalf("the validation took %d steps, %d were counted", v.n, steps)
		}
	})
	if compiled == 0 {
		t.Error("no schema was compiled")
	}
}

func drawSchema(t *rapid.T) json.RawMessage {
	root := drawNode(t, 4)
	object, ok := root.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	object["$defs"] = map[string]any{"a": drawNode(t, 3), "b": drawNode(t, 2)}
	if rapid.Bool().Draw(t, "old") {
		object["$schema"] = "http://json-schema.org/draft-07/schema#"
	}
	return marshal(object)
}

func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func drawNode(t *rapid.T, depth int) any {
	if depth == 0 {
		return rapid.SampledFrom([]any{true, false, map[string]any{"type": "string"}, map[string]any{"$ref": "#/$defs/b"}, map[string]any{}}).Draw(t, "leaf")
	}
	node := map[string]any{}
	for _, word := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"$ref", "not", "if", "then", "else", "contains", "items", "propertyNames", "additionalProperties", "unevaluatedProperties", "unevaluatedItems",
		"allOf", "anyOf", "oneOf", "prefixItems", "properties", "patternProperties", "dependentSchemas", "dependencies",
		"uniqueItems", "enum", "pattern", "required", "minimum",
	}), 0, 4, rapid.ID).Draw(t, "words") {
		node[word] = drawKeyword(t, word, depth-1)
	}
	return node
}

func drawKeyword(t *rapid.T, word string, depth int) any {
	switch word {
	case "$ref":
		return rapid.SampledFrom([]string{"#", "#/$defs/a", "#/$defs/b"}).Draw(t, "ref")
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return []any{drawNode(t, depth), drawNode(t, depth)}
	case "properties", "dependentSchemas", "dependencies":
		return map[string]any{"a": drawNode(t, depth), "b": drawNode(t, depth)}
	case "patternProperties":
		return map[string]any{"a": drawNode(t, depth), "[bc]": drawNode(t, depth)}
	case "uniqueItems":
		return true
	case "enum":
		return []any{1, "a", []any{"a"}}
	case "pattern":
		return "(a|b)+c"
	case "required":
		return []string{"a"}
	case "minimum":
		return 1
	}
	return drawNode(t, depth)
}

func drawValue(t *rapid.T, depth int) json.RawMessage { return marshal(drawAny(t, depth)) }

func drawAny(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case kind == 0 && depth > 0:
		all := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			all = append(all, drawAny(t, depth-1))
		}
		return all
	case kind <= 2 && depth > 0:
		all := map[string]any{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "ab"}), rapid.ID).Draw(t, "names") {
			all[name] = drawAny(t, depth-1)
		}
		return all
	}
	return rapid.SampledFrom([]any{nil, true, 1, 1.5, "a", "abc"}).Draw(t, "scalar")
}

func FuzzCompile(f *testing.F) {
	f.Add([]byte(doubled(12)), []byte(`{"a":[1,2]}`))
	f.Add([]byte(`{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`), []byte(`[[[[[[[[[[1]]]]]]]]]]`))
	f.Add([]byte(`{"pattern":"a{1000}","format":"regex","uniqueItems":true}`), []byte(`["a{1000}"]`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := Compile(schema)
		if err != nil {
			return
		}
		if s.weight > MaxBytes+nodeWeight*(MaxNodes+1000)+stepWeight*MaxPatternSteps {
			t.Fatalf("a schema weighs %d", s.weight)
		}
		if v, err := Parse(value); err == nil {
			_ = s.Validate(v)
		}
	})
}

func TestTheCacheIsBounded(t *testing.T) {
	var c Cache
	one := json.RawMessage(`{"type":"object"}`)
	first, err := c.Compile(one)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.Compile(one); again != first {
		t.Error("a schema was compiled twice")
	}
	var large strings.Builder // a schema that needs much memory
	for n := range 16 {
		fmt.Fprintf(&large, `{"pattern":"%c{1000}"},`, 'a'+n)
	}
	for i := range 40 {
		if _, err := c.Compile(fmt.Appendf(nil, `{"anyOf":[%s{"const":%d}]}`, large.String(), i)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile(fmt.Appendf(nil, `{"type":%d}`, i)); err == nil {
			t.Fatal("no error was kept")
		}
	}
	total := 0
	for text := range c.byText.Keys() {
		total += c.byText.Peek(text).weight()
	}
	if total != c.weight || total > MaxCached {
		t.Errorf("the cache counts %d bytes and holds %d in %d schemas", c.weight, total, c.byText.Len())
	}
	if again, _ := c.Compile(one); again == first {
		t.Error("the schema used least recently was not dropped")
	}
}
