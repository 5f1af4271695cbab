package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// Each member of the body of a new execution has its effect, and an omitted member has its default.
func TestWhatAnExecutionIsAskedFor(t *testing.T) {
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
	r := h.call("POST", "/agent-executions", `{"kind":"react-agent","userPrompt":"hi","systemPrompt":"be kind",`+
		`"models":[{"provider":"scripted","modelId":"a/b:c no such model"},{"provider":"scripted","modelId":"m"}],"tools":["bash","grep"],`+
		`"config":{"maxTurns":3,"maxTokens":9,"temperature":0.5,"thinking":"high"},"oneShot":true,"workspace":"sub","queue":"gpu",`+
		`"metadata":{"a":{"b":1}},"persistenceMode":"LOCAL"}`)
	r.want(201, nil)
	var whole struct {
		Input     json.RawMessage
		Queue     string
		Workspace string
		Metadata  json.RawMessage
		Mode      string `json:"persistenceMode"`
	}
	r.want(201, &whole)
	const want = `{"userPrompt":"hi","systemPrompt":"be kind","models":[{"provider":"scripted","modelId":"a/b:c no such model"},{"provider":"scripted","modelId":"m"}],` +
		`"tools":["bash","grep"],"config":{"maxTurns":3,"maxTokens":9,"temperature":0.5,"thinking":"high"},"oneShot":true}`
	if string(whole.Input) != want || whole.Queue != "gpu" || whole.Workspace != "sub" || string(whole.Metadata) != `{"a":{"b":1}}` || whole.Mode != "LOCAL" {
		t.Errorf("it became %s", r.body)
	}
	h.call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`}`).want(201, &x)
	if x.Kind != "react-agent" || x.Input.OneShot || x.Queue != "default" || x.PersistenceMode != perdure.Remote || x.DefinitionID != nil ||
		len(x.Input.Tools) != 0 || len(x.Input.Config) != 0 || string(x.Metadata) != "{}" {
		t.Errorf("the defaults are %+v", x)
	}
	for _, thinking := range []string{"off", "low", "medium", "high"} {
		h.start(`,"config":{"thinking":"` + thinking + `"}`)
	}
}

// A kind that a worker has registered is remembered, only in its org. Another kind is refused with
// the list of known kinds.
func TestKindsAreRememberedByOrg(t *testing.T) {
	h := open(t)
	_, secret, err := h.engine.CreateKey(t.Context(), "other", "k", "client")
	if err != nil {
		t.Fatal(err)
	}
	p := h.call("POST", "/agent-executions", `{"kind":"cuont"}`).problem(400, "invalid_argument", "kind")
	for _, known := range []string{"count", "react-agent", "anything"} {
		if !strings.Contains(p.Detail, known) {
			t.Errorf("%q does not name %s", p.Detail, known)
		}
	}
	other := h.call("POST", "./api/orgs/other/agent-executions", `{"kind":"count","input":{"n":1}}`, "Authorization", "Bearer "+secret).problem(503, "unavailable", "kind")
	if strings.Contains(other.Detail, "react-agent") {
		t.Errorf("another org is told of ours: %q", other.Detail)
	}
	// No worker is connected to this server.
	h.restarted().call("POST", "/agent-executions", `{"kind":"count","input":{"n":1}}`).want(201, nil)
}

// With a definition, config is merged member by member, and any other given member replaces the
// definition's.
func TestDefinitionsAreMergedMemberByMember(t *testing.T) {
	h := open(t)
	d := h.call("POST", "/agent-definitions", `{"name":"d","systemPrompt":"s",`+models+
		`,"tools":["bash","grep"],"config":{"maxTurns":3,"maxTokens":9,"temperature":0.5,"thinking":"high"}}`).object(201)
	input := func(more string) string {
		t.Helper()
		var x struct{ Input json.RawMessage }
		h.call("POST", "/agent-executions", `{"agentDefinitionId":"`+d["id"].(string)+`","userPrompt":"hi"`+more+`}`).want(201, &x)
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

// A definition is replaced as a whole, at the version in If-Match if there is one.
func TestDefinitionsAreReplacedWhole(t *testing.T) {
	h := open(t)
	const full = `{"name":"d","slug":"own-slug","description":"about","systemPrompt":"s",` + models + `,"tools":["bash"],"config":{"maxTurns":3},"metadata":{"a":1}}`
	d := h.call("POST", "/agent-definitions", full).object(201)
	at := "/agent-definitions/" + d["id"].(string)
	for name, match := range map[string]string{"an older version": "0", "a later version": "2", "no version": "one", "a quoted later version": `"2"`} {
		r := h.call("PUT", at, full, "If-Match", match)
		if r.status != 409 && r.status != 400 {
			t.Errorf("%s is answered %d", name, r.status)
		}
	}
	h.call("PUT", at, full, "If-Match", "2").problem(409, "conflict", "")
	if now := h.call("GET", at, "").object(200); now["version"] != 1.0 {
		t.Errorf("a refused change was made: %v", now)
	}
	put := h.call("PUT", at, `{"name":"e",`+models+`}`, "If-Match", "1")
	put.shape(200, `{"id":"U1","name":"e","slug":"own-slug","description":"","systemPrompt":"","models":[{"provider":"scripted","modelId":"m"}],`+
		`"tools":[],"config":{},"metadata":{},"createdAt":"T","updatedAt":"T","version":2}`)
	h.call("PUT", at, full).want(200, nil) // without a version: any version
	h.call("PUT", at, `{"name":"e"}`).problem(400, "invalid_argument", "models")
	h.call("PUT", at, `{`+models+`}`).problem(400, "invalid_argument", "name")
	h.call("PUT", at, `{"name":"e","second":"f",`+models+`}`).problem(400, "invalid_argument", "second")
}
