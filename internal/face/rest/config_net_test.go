package rest_test

import (
	"encoding/json"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

// wrongNets are invalid values of config.net, each as JSON.
var wrongNets = []string{`"lan"`, `"Open"`, `"none "`, `1`, `true`, `["none"]`, `{}`}

// TestTheNetworkOfAStart checks that a start accepts only the defined values of config.net. The
// error for another value names the field, and no execution is started.
func TestTheNetworkOfAStart(t *testing.T) {
	h := facetest.Open(t)
	for _, wrong := range wrongNets {
		h.Call("POST", "/agent-executions", `{"userPrompt":"hi",`+facetest.Models+`,"config":{"net":`+wrong+`}}`).Problem(400, "invalid_argument", "config.net")
	}
	var all struct{ Items []json.RawMessage }
	if h.Call("GET", "/agent-executions", "").Want(200, &all); len(all.Items) != 0 {
		t.Errorf("%d executions were started", len(all.Items))
	}
	for _, net := range []string{"", "open", "loopback", "none"} {
		if got := netOf(h, `"config":{"net":"`+net+`"}`); got != net {
			t.Errorf("%q became %q", net, got)
		}
	}
}

// netOf starts an execution and returns the network setting in its input.
func netOf(h *facetest.Server, members string) string {
	h.T.Helper()
	var x struct{ Input perdure.ReactInput }
	h.Call("POST", "/agent-executions", `{"userPrompt":"hi",`+facetest.Models+`,`+members+`}`).Want(201, &x)
	return x.Input.Config.Net
}

// TestTheNetworkOfADefinition checks that the network setting of a definition is checked when the
// definition is created or changed. After a refused change, the definition is unchanged.
func TestTheNetworkOfADefinition(t *testing.T) {
	h := facetest.Open(t)
	body := func(net string) string { return `{"name":"d",` + facetest.Models + `,"config":{"net":` + net + `}}` }
	made := h.Call("POST", "/agent-definitions", body(`"loopback"`)).Object(201)
	path := "/agent-definitions/" + made["id"].(string)
	for _, wrong := range wrongNets {
		h.Call("POST", "/agent-definitions", body(wrong)).Problem(400, "invalid_argument", "config.net")
		h.Call("PUT", path, body(wrong)).Problem(400, "invalid_argument", "config.net")
	}
	stored := func() string {
		var d perdure.Definition
		h.Call("GET", path, "").Want(200, &d)
		return d.Config.Net
	}
	if got := stored(); got != "loopback" {
		t.Errorf("after refused changes it is %q", got)
	}
	var all struct{ Items []json.RawMessage }
	if h.Call("GET", "/agent-definitions", "").Want(200, &all); len(all.Items) != 1 {
		t.Errorf("there are %d definitions", len(all.Items))
	}
	for _, net := range []string{"none", "open", ""} {
		h.Call("PUT", path, body(`"`+net+`"`)).Want(200, nil)
		if got := stored(); got != net {
			t.Errorf("a change to %q leaves %q", net, got)
		}
	}
}

// TestAStartIsAsStrictAsItsDefinition checks that an execution has the stricter of two network
// settings: that of its definition and that of its start.
func TestAStartIsAsStrictAsItsDefinition(t *testing.T) {
	h := facetest.Open(t)
	for definition, starts := range map[string]map[string]string{
		"":         {"": "", "open": "open", "loopback": "loopback", "none": "none"},
		"open":     {"": "open", "open": "open", "loopback": "loopback", "none": "none"},
		"loopback": {"": "loopback", "open": "loopback", "loopback": "loopback", "none": "none"},
		"none":     {"": "none", "open": "none", "loopback": "none", "none": "none"},
	} {
		d := h.Call("POST", "/agent-definitions", `{"name":"d`+definition+`",`+facetest.Models+`,"config":{"net":"`+definition+`"}}`).Object(201)
		h.Call("POST", "/agent-executions", `{"agentDefinitionId":"`+d["id"].(string)+`","userPrompt":"hi","config":{"net":"lan"}}`).Problem(400, "invalid_argument", "config.net")
		for start, want := range starts {
			got := netOf(h, `"agentDefinitionId":"`+d["id"].(string)+`","config":{"net":"`+start+`"}`)
			if got != want {
				t.Errorf("a start with %q of a definition with %q has %q, want %q", start, definition, got, want)
			}
		}
	}
}
