package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestChecksAreBounded checks that Check returns an error result if the check of the schema would
// never end, and if the check of the arguments would take too long. The result lists at most
// maxExplained faults.
func TestChecksAreBounded(t *testing.T) {
	var doubled strings.Builder
	for i := range 32 {
		fmt.Fprintf(&doubled, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	spread := `{"type":"object","properties":{"a":{"$ref":"#/$defs/l"}},"$defs":{"l":{"anyOf":[{"items":{"$ref":"#/$defs/l"}},{"items":{"$ref":"#/$defs/l"}}]}}}`
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	for name, c := range map[string]struct{ schema, arguments, want string }{
		"schema":    {`{"type":"object","$ref":"#/$defs/d0","$defs":{` + doubled.String() + `"d32":{}}}`, `{}`, "cannot be called"},
		"arguments": {spread, deep(40), "cannot be checked"},
		"depth":     {spread, deep(400), "cannot be checked"},
		"number":    {`{"type":"object"}`, `{"a":1e999999}`, "cannot be checked"},
	} {
		bad := Tool{Name: "t", Schema: json.RawMessage(c.schema)}.Check(json.RawMessage(c.arguments))
		if bad == nil || !bad.IsError || !strings.Contains(bad.PlainText(), c.want) {
			t.Errorf("%s: the check gave %+v", name, bad)
		}
	}
	if bad := (Tool{Name: "t", Schema: json.RawMessage(spread)}).Check(json.RawMessage(deep(3))); bad != nil {
		t.Errorf("ordinary arguments gave %+v", bad)
	}
	many := make([]string, 5000)
	for i := range many {
		many[i] = `"x"`
	}
	list := Tool{Name: "t", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"items":{"type":"integer"}}}}`)}
	if bad := list.Check(json.RawMessage(`{"a":[` + strings.Join(many, ",") + `]}`)); bad == nil || strings.Count(bad.PlainText(), "\n") > maxExplained+2 {
		t.Errorf("5000 faults gave %d lines", strings.Count(bad.PlainText(), "\n"))
	}
}
