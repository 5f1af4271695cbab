package rest_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

// wrongPolicies are invalid values of the member approvals, each with the field that the error
// names.
var wrongPolicies = map[string]string{
	`"never"`: "approvals", `7`: "approvals", `{}`: "approvals", `[7]`: "approvals",
	`[{"tools": [], "then": "ask"}]`:                              "approvals[0].tools",
	`[{"tools": ["bash"], "then": "perhaps"}]`:                    "approvals[0].then",
	`[{"tools": ["bash"], "then": "ask", "expires": "tomorrow"}]`: "approvals[0].expires",
	`[{"tools": ["bash"], "then": "ask", "when": {"type": 7}}]`:   "approvals[0].when",
	`[{"tools": ["bash"], "then": "ask", "colour": "red"}]`:       "approvals[0].colour",
}

// TestThePolicyOfAStart checks that policies in starts and definitions are validated. If a policy
// is invalid, nothing is started or stored. A valid policy is stored as a part of the input.
func TestThePolicyOfAStart(t *testing.T) {
	h := facetest.Open(t)
	for wrong, field := range wrongPolicies {
		h.Call("POST", "/agent-executions", `{"userPrompt":"hi",`+facetest.Models+`,"approvals":`+wrong+`}`).Problem(400, "invalid_argument", field)
		h.Call("POST", "/agent-definitions", `{"name":"d",`+facetest.Models+`,"approvals":`+wrong+`}`).Problem(400, "invalid_argument", field)
	}
	var all struct{ Items []json.RawMessage }
	if h.Call("GET", "/agent-executions", "").Want(200, &all); len(all.Items) != 0 {
		t.Errorf("%d executions were started", len(all.Items))
	}
	if h.Call("GET", "/agent-definitions", "").Want(200, &all); len(all.Items) != 0 {
		t.Errorf("%d definitions were stored", len(all.Items))
	}
	var d struct {
		ID        string
		Approvals perdure.ApprovalPolicy
	}
	h.Call("POST", "/agent-definitions", `{"name":"d",`+facetest.Models+`,"approvals":"edits"}`).Want(201, &d)
	if len(d.Approvals) != 3 || d.Approvals[0].Then != perdure.ApprovalAsk {
		t.Errorf("the definition has %+v", d.Approvals)
	}
	var x struct{ Input perdure.ReactInput }
	h.Call("POST", "/agent-executions", `{"userPrompt":"hi","agentDefinitionId":"`+d.ID+`","approvals":[{"tools":["*"],"then":"deny","reason":"no"}]}`).Want(201, &x)
	if a := x.Input.Approvals; a == nil || len(a.Definition) != 3 || len(a.Start) != 1 || a.Start[0].Reason != "no" {
		t.Errorf("the run has %+v", a)
	}
}

// TestThePolicyOfAnotherKind checks starts of an agent other than the react agent, with an approval
// policy. Invalid policies are refused. The input of the execution stays unchanged. A LOCAL
// execution with a policy, from its start or its definition, needs a worker with the feature
// questions/local.
func TestThePolicyOfAnotherKind(t *testing.T) {
	h := facetest.Open(t)
	for wrong, field := range wrongPolicies {
		h.Call("POST", "/agent-executions", `{"kind":"anything","approvals":`+wrong+`}`).Problem(400, "invalid_argument", field)
	}
	const local = `{"kind":"anything","persistenceMode":"LOCAL",`
	var d struct{ ID string }
	h.Call("POST", "/agent-definitions", `{"name":"d",`+facetest.Models+`,"approvals":"edits"}`).Want(201, &d)
	var needs struct{ NeedsFeatures []string }
	for _, policy := range []string{`"approvals":"ask"}`, `"agentDefinitionId":"` + d.ID + `"}`} {
		h.Call("POST", "/agent-executions", local+policy).Want(201, &needs)
		if !slices.Contains(needs.NeedsFeatures, "questions/local") {
			t.Errorf("%s: the run needs %v of its worker", policy, needs.NeedsFeatures)
		}
	}
	var x struct{ Input json.RawMessage }
	h.Call("POST", "/agent-executions", `{"kind":"anything","input":{"a":1},"approvals":"ask","agentDefinitionId":"`+d.ID+`"}`).Want(201, &x)
	if string(x.Input) != `{"a":1}` {
		t.Errorf("the input is %s", x.Input)
	}
	h.Call("POST", "/agent-executions", local+`"approvals":"allow"}`).Want(201, &x)
}

// TestAnExecutionShowsItsPolicies checks that the response for a single execution, of any kind,
// contains the policies with which it was started, even if the definition has changed since. Lists
// do not contain them.
func TestAnExecutionShowsItsPolicies(t *testing.T) {
	h := facetest.Open(t)
	var d struct{ ID string }
	h.Call("POST", "/agent-definitions", `{"name":"d",`+facetest.Models+`,"approvals":"edits"}`).Want(201, &d)
	bodies := map[string]string{
		"the react agent": `{"userPrompt":"hi",`,
		"another kind":    `{"kind":"anything","input":{"approvals":{"start":[]}},`,
		"a LOCAL run":     `{"kind":"anything","persistenceMode":"LOCAL",`,
	}
	started := map[string]string{}
	for of, body := range bodies {
		var x struct{ ID string }
		h.Call("POST", "/agent-executions", body+`"agentDefinitionId":"`+d.ID+`","approvals":[{"tools":["refund"],"then":"ask","needed":1,"reason":"It costs money."}]}`).Want(201, &x)
		started[of] = x.ID
	}
	h.Call("PUT", "/agent-definitions/"+d.ID, `{"name":"d",`+facetest.Models+`,"approvals":"allow"}`).Want(200, nil)
	for of, id := range started {
		var x struct{ Approvals *perdure.Approvals }
		h.Call("GET", "/agent-executions/"+id, "").Want(200, &x)
		if a := x.Approvals; a == nil || len(a.Definition) != 3 || len(a.Start) != 1 || a.Start[0].Reason != "It costs money." {
			t.Errorf("%s shows the policies %+v", of, a)
		}
	}
	var free struct{ ID string }
	h.Call("POST", "/agent-executions", `{"kind":"anything","approvals":"allow"}`).Want(201, &free)
	var x map[string]json.RawMessage
	if h.Call("GET", "/agent-executions/"+free.ID, "").Want(200, &x); x["approvals"] != nil {
		t.Errorf("a run that may call everything shows %s", x["approvals"])
	}
	var all struct{ Items []map[string]json.RawMessage }
	h.Call("GET", "/agent-executions", "").Want(200, &all)
	for _, item := range all.Items {
		if item["approvals"] != nil {
			t.Errorf("a list shows %s", item["approvals"])
		}
	}
}
