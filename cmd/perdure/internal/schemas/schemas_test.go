package schemas

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	validator "github.com/perdure/perdure/internal/schema"
)

const order = `{"type":"object","$defs":{"address":{"type":"object","properties":{"name":{"type":"string"},"city":{"type":"string"}},"required":["name"]}},
"properties":{"article":{"type":"string","description":"what to\nsend\u001b[2J"},"quantity":{"type":"integer","minimum":2},
"urgency":{"type":"integer","enum":[1,2,3]},"notes":{"type":"array","items":{"type":"string"}},"to":{"$ref":"#/$defs/address"},
"payment":{"oneOf":[{"type":"object","properties":{"card":{"type":"string"}},"required":["card"]},{"type":"object","required":["invoice"]}]}},
"required":["article","quantity","to","payment"]}`

// TestFieldsOfASchema checks that Fields describes an object with one line for each field, nested
// fields indented. A schema that accepts any value has no lines.
func TestFieldsOfASchema(t *testing.T) {
	want := `article   string, required: what to send\u001b[2J
quantity  integer, required
urgency   integer, one of 1, 2, 3
notes     array of string
to        object, required
  name    string, required
  city    string
payment   object, required
  card    string`
	if diff := cmp.Diff(want, strings.Join(Fields(json.RawMessage(order)), "\n")); diff != "" {
		t.Error(diff)
	}
	for raw, want := range map[string]string{
		`{"type":["integer","null"],"title":"How many"}`: "integer or null: How many", `{"enum":["a","b"]}`: `one of "a", "b"`,
		`true`: "", `{}`: "", ``: "", `{"type":3}`: "", `{"$ref":"#"}`: "",
	} {
		if got := strings.Join(Fields(json.RawMessage(raw)), "\n"); got != want {
			t.Errorf("%s has the fields %q, want %q", raw, got, want)
		}
	}
}

// TestExamplesFitTheirSchema checks that an example is valid, and that there is none for a schema that
// accepts any value.
func TestExamplesFitTheirSchema(t *testing.T) {
	for raw, want := range map[string]string{
		order: `{"article":"text","quantity":2,"to":{"name":"text"},"payment":{"card":"text"}}`,
		`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"string"}}}`: `{"a":true}`,
		`{"type":"array","items":{"type":"string","format":"date"}}`:                    `["2026-01-31"]`,
		`{"type":"integer","examples":[ 7 ]}`:                                           `7`,
		`{}`:                                                                            "",
		`true`:                                                                          "",
	} {
		got := Example(json.RawMessage(raw))
		if string(got) != want {
			t.Errorf("the example of %s is %s, want %s", raw, got, want)
		}
		if got == nil {
			continue
		}
		compiled, err := validator.Compile(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Check("value", got); err != nil {
			t.Errorf("%s does not fit %s: %v", got, raw, err)
		}
	}
}

// TestLargeSchemasAreDescribedBriefly checks that the description of a large schema stays short: it
// lists at most maxFields fields and some of the values, and counts the others. The example of the
// schema has at most maxExample bytes.
func TestLargeSchemasAreDescribedBriefly(t *testing.T) {
	var fields, values []string
	for i := range 500 {
		fields = append(fields, fmt.Sprintf(`"f%d":{"$ref":"#"}`, i))
		values = append(values, fmt.Sprintf(`"%d%s"`, i, strings.Repeat("x", 300)))
	}
	raw := json.RawMessage(`{"required":["f1","f2"],"properties":{` + strings.Join(fields, ",") + `}}`)
	if lines := Fields(raw); len(lines) > maxFields+1 || !strings.Contains(lines[len(lines)-1], "more fields") {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
	if got := Example(raw); len(got) > maxExample {
		t.Errorf("the example has %d bytes", len(got))
	}
	if got := strings.Join(Fields(json.RawMessage(`{"enum":[`+strings.Join(values, ",")+`]}`)), "\n"); len(got) > 2000 || !strings.Contains(got, "488 more") {
		t.Errorf("the values are %s", got)
	}
}

// TestPartsThatReferToTheWholeAreJoinedOnce checks that a schema whose subschemas refer to the
// schema itself is described quickly, with each field once.
func TestPartsThatReferToTheWholeAreJoinedOnce(t *testing.T) {
	var fields []string
	for i := range 100 {
		fields = append(fields, fmt.Sprintf(`"a%d":{"$ref":"#"}`, i))
	}
	parts := strings.TrimSuffix(strings.Repeat(`{"$ref":"#"},`, 100), ",")
	raw := json.RawMessage(`{"allOf":[` + parts + `],"properties":{` + strings.Join(fields, ",") + `},"required":["a1"]}`)
	if n := len(parse(raw).resolve(parse(raw).root).Properties); n != 100 {
		t.Errorf("the object has %d fields", n)
	}
	twice := json.RawMessage(`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]}],"properties":{"a":{"type":"string"}},"required":["a"]}`)
	if got := string(Example(twice)); got != `{"a":"text"}` {
		t.Errorf("the example is %s", got)
	}
}

// TestExamplesShowControlCharacters checks that an example of a schema cannot control a terminal.
func TestExamplesShowControlCharacters(t *testing.T) {
	got := Explain(json.RawMessage("{\"type\":\"string\",\"examples\":[\"\u009b2J\u202e\"]}"), "perdure start k")
	if strings.ContainsAny(got, "\u009b\u202e") {
		t.Errorf("the example is %q", got)
	}
}
