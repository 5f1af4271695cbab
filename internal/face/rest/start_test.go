package rest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestStartBodyIsStored checks that the members of a start's body are stored in the execution, and
// omitted members have their defaults.
func TestStartBodyIsStored(t *testing.T) {
	h := open(t)
	var x struct {
		perdure.Execution
		Input struct {
			UserPrompt, SystemPrompt string
			Models                   []perdure.ModelConfig
			Tools                    []string
			Config                   map[string]any
			OneShot                  bool
		}
	}
	r := h.Call("POST", "/agent-executions", `{"kind":"react-agent","userPrompt":"hi","systemPrompt":"be kind",`+
		`"models":[{"provider":"scripted","modelId":"a/b:c no such model"},{"provider":"scripted","modelId":"m"}],"tools":["bash","grep"],`+
		`"config":{"maxTurns":3,"maxTokens":9,"temperature":0.5,"thinking":"high"},"oneShot":true,"workspace":"sub","queue":"gpu",`+
		`"metadata":{"a":{"b":1}},"persistenceMode":"LOCAL"}`)
	r.Want(201, nil)
	var whole struct {
		Input     json.RawMessage
		Queue     string
		Workspace string
		Metadata  json.RawMessage
		Mode      string `json:"persistenceMode"`
	}
	r.Want(201, &whole)
	const want = `{"userPrompt":"hi","systemPrompt":"be kind","models":[{"provider":"scripted","modelId":"a/b:c no such model"},{"provider":"scripted","modelId":"m"}],` +
		`"tools":["bash","grep"],"config":{"maxTurns":3,"maxTokens":9,"temperature":0.5,"thinking":"high"},"oneShot":true}`
	if string(whole.Input) != want || whole.Queue != "gpu" || whole.Workspace != "sub" || string(whole.Metadata) != `{"a":{"b":1}}` || whole.Mode != "LOCAL" {
		t.Errorf("it became %s", r.Body)
	}
	h.Call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`}`).Want(201, &x)
	if x.Kind != "react-agent" || x.Input.OneShot || x.Queue != "default" || x.PersistenceMode != perdure.Remote || x.DefinitionID != nil ||
		len(x.Input.Tools) != 0 || len(x.Input.Config) != 0 || string(x.Metadata) != "{}" {
		t.Errorf("the defaults are %+v", x)
	}
	for _, thinking := range []string{"off", "low", "medium", "high"} {
		h.Start(`,"config":{"thinking":"` + thinking + `"}`)
	}
}

// TestKindsAreRememberedByOrg checks that a start with an unknown kind is refused, and that the
// error lists the kinds of the org. A kind that workers of the org have registered is accepted by
// another server over the same store, but refused in another org.
func TestKindsAreRememberedByOrg(t *testing.T) {
	h := open(t)
	_, secret, err := h.Engine.CreateKey(t.Context(), "other", "k", "client")
	if err != nil {
		t.Fatal(err)
	}
	p := h.Call("POST", "/agent-executions", `{"kind":"cuont"}`).Problem(400, "invalid_argument", "kind")
	for _, known := range []string{"count", "react-agent", "anything"} {
		if !strings.Contains(p.Detail, known) {
			t.Errorf("%q does not name %s", p.Detail, known)
		}
	}
	other := h.Call("POST", "./api/orgs/other/agent-executions", `{"kind":"count","input":{"n":1}}`, "Authorization", "Bearer "+secret).Problem(503, "unavailable", "kind")
	if strings.Contains(other.Detail, "react-agent") {
		t.Errorf("another org is told of ours: %q", other.Detail)
	}
	// No worker is connected to this server.
	h.Restarted().Call("POST", "/agent-executions", `{"kind":"count","input":{"n":1}}`).Want(201, nil)
}

// TestDefinitionsAreMergedMemberByMember checks a start with a definition. The member config of the
// start is merged with that of the definition, member by member. Any other member of the start
// replaces the definition's member.
func TestDefinitionsAreMergedMemberByMember(t *testing.T) {
	h := open(t)
	d := h.Call("POST", "/agent-definitions", `{"name":"d","systemPrompt":"s",`+models+
		`,"tools":["bash","grep"],"config":{"maxTurns":3,"maxTokens":9,"temperature":0.5,"thinking":"high"}}`).Object(201)
	input := func(more string) string {
		t.Helper()
		var x struct{ Input json.RawMessage }
		h.Call("POST", "/agent-executions", `{"agentDefinitionId":"`+d["id"].(string)+`","userPrompt":"hi"`+more+`}`).Want(201, &x)
		return string(x.Input)
	}
	whole := func(system, model, tools, config string) string {
		return `{"userPrompt":"hi",` + system + `"models":[{"provider":"scripted","modelId":"` + model + `"}],"tools":` + tools + `,"config":` + config + `,"oneShot":false}`
	}
	const s, tools, config = `"systemPrompt":"s",`, `["bash","grep"]`, `{"maxTurns":3,"maxTokens":9,"temperature":0.5,"thinking":"high"}`
	for more, want := range map[string]string{
		``:                             whole(s, "m", tools, config),
		`,"config":{"maxTurns":4}`:     whole(s, "m", tools, strings.Replace(config, ":3", ":4", 1)),
		`,"config":{"maxTokens":8}`:    whole(s, "m", tools, strings.Replace(config, ":9", ":8", 1)),
		`,"config":{"temperature":0}`:  whole(s, "m", tools, strings.Replace(config, ":0.5", ":0", 1)),
		`,"config":{"thinking":"off"}`: whole(s, "m", tools, strings.Replace(config, "high", "off", 1)),
		`,"config":{}`:                 whole(s, "m", tools, config),
		`,"tools":["find"]`:            whole(s, "m", `["find"]`, config),
		`,"tools":[]`:                  whole(s, "m", `[]`, config),
		`,"systemPrompt":"t"`:          whole(`"systemPrompt":"t",`, "m", tools, config),
		`,"systemPrompt":""`:           whole("", "m", tools, config),
		`,"models":[{"provider":"scripted","modelId":"other model"}]`: whole(s, "other model", tools, config),
	} {
		if got := input(more); got != want {
			t.Errorf("with %s it is\n%s\nwant\n%s", more, got, want)
		}
	}
}

// TestDefinitionsAreReplacedWhole checks that PUT replaces all members of a definition except its
// slug. A PUT with If-Match succeeds only if the header names the current version.
func TestDefinitionsAreReplacedWhole(t *testing.T) {
	h := open(t)
	const full = `{"name":"d","slug":"own-slug","description":"about","systemPrompt":"s",` + models + `,"tools":["bash"],"config":{"maxTurns":3},"metadata":{"a":1}}`
	d := h.Call("POST", "/agent-definitions", full).Object(201)
	at := "/agent-definitions/" + d["id"].(string)
	for name, match := range map[string]string{"an older version": "0", "a later version": "2", "no version": "one", "a quoted later version": `"2"`} {
		r := h.Call("PUT", at, full, "If-Match", match)
		if r.Status != 409 && r.Status != 400 {
			t.Errorf("%s is answered %d", name, r.Status)
		}
	}
	h.Call("PUT", at, full, "If-Match", "2").Problem(409, "conflict", "")
	if now := h.Call("GET", at, "").Object(200); now["version"] != 1.0 {
		t.Errorf("a refused change was made: %v", now)
	}
	put := h.Call("PUT", at, `{"name":"e",`+models+`}`, "If-Match", "1")
	put.Shape(200, `{"id":"U1","name":"e","slug":"own-slug","description":"","systemPrompt":"","models":[{"provider":"scripted","modelId":"m"}],`+
		`"tools":[],"config":{},"metadata":{},"createdAt":"T","updatedAt":"T","version":2}`)
	h.Call("PUT", at, full).Want(200, nil) // without If-Match, the version does not matter
	h.Call("PUT", at, `{"name":"e"}`).Problem(400, "invalid_argument", "models")
	h.Call("PUT", at, `{`+models+`}`).Problem(400, "invalid_argument", "name")
	h.Call("PUT", at, `{"name":"e","second":"f",`+models+`}`).Problem(400, "invalid_argument", "second")
}
