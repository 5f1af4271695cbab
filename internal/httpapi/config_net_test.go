package httpapi_test

import (
	"encoding/json"
	"testing"

	"github.com/perdure/perdure"
)

// wrongNets are values of config.net that are refused, each as JSON.
var wrongNets = []string{`"lan"`, `"Open"`, `"none "`, `1`, `true`, `["none"]`, `{}`}

// The network of a start must be one of the defined words; another value is refused by name and
// starts nothing.
func TestTheNetworkOfAStart(t *testing.T) {
	h := open(t)
	for _, wrong := range wrongNets {
		h.call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`,"config":{"net":`+wrong+`}}`).problem(400, "invalid_argument", "config.net")
	}
	var all struct{ Items []json.RawMessage }
	if h.call("GET", "/agent-executions", "").want(200, &all); len(all.Items) != 0 {
		t.Errorf("%d executions were started", len(all.Items))
	}
	for _, net := range []string{"", "open", "loopback", "none"} {
		if got := h.netOf(`"config":{"net":"` + net + `"}`); got != net {
			t.Errorf("%q became %q", net, got)
		}
	}
}

// netOf starts an execution and returns the network of its input.
func (h *house) netOf(members string) string {
	h.t.Helper()
	var x struct{ Input perdure.ReactInput }
	h.call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`,`+members+`}`).want(201, &x)
	return x.Input.Config.Net
}

// A definition's network is checked when it is created and when it is changed. A refused change
// leaves it unchanged.
func TestTheNetworkOfADefinition(t *testing.T) {
	h := open(t)
	body := func(net string) string { return `{"name":"d",` + models + `,"config":{"net":` + net + `}}` }
	made := h.call("POST", "/agent-definitions", body(`"loopback"`)).object(201)
	path := "/agent-definitions/" + made["id"].(string)
	for _, wrong := range wrongNets {
		h.call("POST", "/agent-definitions", body(wrong)).problem(400, "invalid_argument", "config.net")
		h.call("PUT", path, body(wrong)).problem(400, "invalid_argument", "config.net")
	}
	stored := func() string {
		var d perdure.Definition
		h.call("GET", path, "").want(200, &d)
		return d.Config.Net
	}
	if got := stored(); got != "loopback" {
		t.Errorf("after refused changes it is %q", got)
	}
	var all struct{ Items []json.RawMessage }
	if h.call("GET", "/agent-definitions", "").want(200, &all); len(all.Items) != 1 {
		t.Errorf("there are %d definitions", len(all.Items))
	}
	for _, net := range []string{"none", "open", ""} {
		h.call("PUT", path, body(`"`+net+`"`)).want(200, nil)
		if got := stored(); got != net {
			t.Errorf("a change to %q leaves %q", net, got)
		}
	}
}

// A start may be stricter than its definition, but not less strict.
func TestAStartIsAsStrictAsItsDefinition(t *testing.T) {
	h := open(t)
	for definition, starts := range map[string]map[string]string{
		"":         {"": "", "open": "open", "loopback": "loopback", "none": "none"},
		"open":     {"": "open", "open": "open", "loopback": "loopback", "none": "none"},
		"loopback": {"": "loopback", "open": "loopback", "loopback": "loopback", "none": "none"},
		"none":     {"": "none", "open": "none", "loopback": "none", "none": "none"},
	} {
		d := h.call("POST", "/agent-definitions", `{"name":"d`+definition+`",`+models+`,"config":{"net":"`+definition+`"}}`).object(201)
		h.call("POST", "/agent-executions", `{"agentDefinitionId":"`+d["id"].(string)+`","userPrompt":"hi","config":{"net":"lan"}}`).problem(400, "invalid_argument", "config.net")
		for start, want := range starts {
			got := h.netOf(`"agentDefinitionId":"` + d["id"].(string) + `","config":{"net":"` + start + `"}`)
			if got != want {
				t.Errorf("a start with %q of a definition with %q has %q, want %q", start, definition, got, want)
			}
		}
	}
}
