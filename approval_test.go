package perdure_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

// fitsText replaces JSON Schema in these tests. A schema is a JSON string, and a call fits it if the
// call contains this text.
func fitsText(schema, call json.RawMessage) (bool, error) {
	var text string
	if err := json.Unmarshal(schema, &text); err != nil {
		return false, err
	}
	return strings.Contains(string(call), text), nil
}

func ranks(a perdure.ApprovalAction) int {
	return map[perdure.ApprovalAction]int{perdure.ApprovalAllow: 0, perdure.ApprovalAsk: 1, perdure.ApprovalDeny: 2}[a]
}

func anyPolicy(t *rapid.T, name string) perdure.ApprovalPolicy {
	rule := rapid.Custom(func(t *rapid.T) perdure.ApprovalRule {
		r := perdure.ApprovalRule{
			Tools: []string{rapid.SampledFrom([]string{"bash", "b*", "*", "edit-file", "mcp:git/*"}).Draw(t, "tool")},
			Then:  rapid.SampledFrom([]perdure.ApprovalAction{perdure.ApprovalAllow, perdure.ApprovalAsk, perdure.ApprovalDeny}).Draw(t, "then"),
		}
		if rapid.Bool().Draw(t, "when") {
			r.When = json.RawMessage(rapid.SampledFrom([]string{`"rm"`, `"ls"`}).Draw(t, "text"))
		}
		if rapid.Bool().Draw(t, "requires") {
			r.Requires = perdure.RequiresConfined
		}
		if r.Then == perdure.ApprovalAsk {
			r.Needed, r.NotAsker = rapid.IntRange(0, 3).Draw(t, "needed"), rapid.Bool().Draw(t, "not asker")
			r.By = rapid.SampledFrom([][]string{nil, {"admin"}, {"approver"}, {"admin", "approver"}}).Draw(t, "by")
			r.Edit = rapid.SampledFrom([]perdure.EditRight{"", perdure.EditClient, perdure.EditApprover}).Draw(t, "edit")
			r.Expires = rapid.SampledFrom([]string{"", "1h", "2h"}).Draw(t, "expires")
			grants := rapid.Bool().Draw(t, "grants")
			r.Grants = &grants
		}
		return r
	})
	return rapid.SliceOfN(rule, 0, 5).Draw(t, name)
}

// TestAStartOnlyTightensItsDefinition checks that the policies of a definition and a start together
// are at least as strict as each of them alone. It also checks that the rule in a judgement has the
// judgement's action, and that Gate.Guards returns true for every tool whose calls may need a
// Clearance.
func TestAStartOnlyTightensItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := perdure.Approvals{Definition: anyPolicy(t, "definition"), Start: anyPolicy(t, "start")}
		call := perdure.ApprovalCall{
			Tool:      rapid.SampledFrom([]string{"bash", "edit-file", "grep", "mcp:git/push"}).Draw(t, "called"),
			Arguments: json.RawMessage(rapid.SampledFrom([]string{`{"command":"rm -rf"}`, `{"command":"ls"}`, `{}`}).Draw(t, "arguments")),
		}
		both, err := a.Judge(call, fitsText)
		if err != nil {
			t.Fatal(err)
		}
		for _, alone := range []perdure.Approvals{{Definition: a.Definition}, {Start: a.Start}} {
			one, err := alone.Judge(call, fitsText)
			if err != nil {
				t.Fatal(err)
			}
			if ranks(both.Then) < ranks(one.Then) || one.Requires != "" && both.Requires == "" {
				t.Fatalf("both policies say %s, one alone says %s", both.Then, one.Then)
			}
			if both.Then == perdure.ApprovalAsk && one.Then == perdure.ApprovalAsk {
				asked := both.Rule.Question("bash")
				mine, err := both.Rule.Life()
				other, otherErr := one.Rule.Life()
				later := other > 0 && (mine == 0 || mine > other)
				if err != nil || otherErr != nil || !one.Rule.Covers(asked) || later || one.Rule.Question("bash").NoGrants && !asked.NoGrants {
					t.Fatalf("the question of both policies is %+v, looser than %+v", both.Rule, one.Rule)
				}
			}
		}
		all := append(append(perdure.ApprovalPolicy{}, a.Definition...), a.Start...)
		if both.Number >= 0 && (both.Rule == nil || all[both.Number].Then != both.Then) {
			t.Fatalf("rule %d is not one that says %s", both.Number, both.Then)
		}
		if (both.Then != perdure.ApprovalAllow || both.Requires != "") && !a.Gate().Guards(call.Tool) {
			t.Fatalf("%s is %s and passes the gate", call.Tool, both.Then)
		}
	})
}

// TestReadyPolicies checks that the predefined policies are valid, and what they decide about the
// built-in tools.
func TestReadyPolicies(t *testing.T) {
	const ask, allow = perdure.ApprovalAsk, perdure.ApprovalAllow
	for name, want := range map[string]map[string]perdure.ApprovalAction{
		"allow":    {"bash": allow, "edit-file": allow, "read-file": allow, "mcp:x/y": allow},
		"edits":    {"bash": ask, "edit-file": allow, "read-file": allow, "mcp:x/y": ask},
		"ask":      {"bash": ask, "edit-file": ask, "read-file": allow, "mcp:x/y": ask},
		"confined": {"bash": allow, "edit-file": allow},
	} {
		var p perdure.ApprovalPolicy
		if err := json.Unmarshal([]byte(`"`+name+`"`), &p); err != nil {
			t.Fatal(err)
		}
		if err := p.Check("approvals"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for tool, then := range want {
			j, err := perdure.Approvals{Start: p}.Judge(perdure.ApprovalCall{Tool: tool, Arguments: json.RawMessage(`{}`)}, fitsText)
			if err != nil || j.Then != then {
				t.Errorf("%s: %s is %s, %v", name, tool, j.Then, err)
			}
			if tool == "bash" && (j.Requires == perdure.RequiresConfined) != (name == "confined") {
				t.Errorf("%s: bash requires %q", name, j.Requires)
			}
		}
	}
	var p perdure.ApprovalPolicy
	if err := json.Unmarshal([]byte(`"never"`), &p); !perdure.IsCode(err, perdure.InvalidArgument) {
		t.Errorf("an unknown policy: %v", err)
	}
}

// TestInvalidPoliciesAreRefused checks that each field of a rule is checked, and that the error names
// the invalid field.
func TestInvalidPoliciesAreRefused(t *testing.T) {
	for _, c := range []struct{ rule, at string }{
		{`{"tools": [], "then": "ask"}`, "approvals[0].tools"},
		{`{"tools": ["a*b"], "then": "ask"}`, "approvals[0].tools"},
		{`{"tools": ["a"], "then": "maybe"}`, "approvals[0].then"},
		{`{"tools": ["a"], "then": "allow", "needed": 2}`, "approvals[0].then"},
		{`{"tools": ["a"], "then": "ask", "needed": 11}`, "approvals[0].needed"},
		{`{"tools": ["a"], "then": "ask", "by": ["worker"]}`, "approvals[0].by"},
		{`{"tools": ["a"], "then": "ask", "by": ["key:x"]}`, "approvals[0].by"},
		{`{"tools": ["a"], "then": "ask", "expires": "soon"}`, "approvals[0].expires"},
		{`{"tools": ["a"], "then": "ask", "expires": "-1h"}`, "approvals[0].expires"},
		{`{"tools": ["a"], "then": "ask", "requires": "luck"}`, "approvals[0].requires"},
	} {
		var p perdure.ApprovalPolicy
		if err := json.Unmarshal([]byte("["+c.rule+"]"), &p); err != nil {
			t.Fatal(err)
		}
		err := p.Check("approvals")
		var coded *perdure.Error
		if !asError(err, &coded) || coded.Code != perdure.InvalidArgument || coded.Fields[0].Location != c.at {
			t.Errorf("%s: %v, want an error at %s", c.rule, err, c.at)
		}
	}
}

func asError(err error, into **perdure.Error) bool {
	e, ok := err.(*perdure.Error)
	*into = e
	return ok
}
