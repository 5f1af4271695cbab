package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Every list has one shape, one default and one bound; executions come newest
// first, everything else oldest first. What is no cursor of the list is refused.
func TestListsHaveOneShapeAndOneBound(t *testing.T) {
	h := open(t)
	x := h.start("")
	run := h.claim()
	events := make([]perdure.NewEvent, 51)
	for i := range events {
		events[i] = perdure.NewEvent{Type: perdure.EventData, Fields: []byte(`{"data":{"type":"plan"}}`)}
	}
	run.commit(perdure.Commit{Events: events})
	for i := range 51 {
		run.say(userText(fmt.Sprint(i)))
		run.task("bash", fmt.Sprint(i))
		h.call("POST", "/agent-definitions", fmt.Sprintf(`{"name":"d%02d",%s}`, i, models)).want(201, nil)
		h.start("")
	}
	pages := map[string]func(map[string]any) string{
		"/agent-executions":          func(i map[string]any) string { return i["createdAt"].(string) },
		"/agent-definitions":         func(i map[string]any) string { return i["createdAt"].(string) },
		h.path(x.ID, "/entries"):     func(i map[string]any) string { return fmt.Sprint(i["createdAt"], i["id"]) },
		h.path(x.ID, "/checkpoints"): func(i map[string]any) string { return fmt.Sprintf("%06.0f", i["sequence"]) },
		h.path(x.ID, "/tasks"):       func(i map[string]any) string { return i["createdAt"].(string) },
	}
	foreign := map[string]string{}
	for path, order := range pages {
		first := h.call("GET", path, "").object(200)
		cursor, more := first["nextCursor"].(string)
		if names(first) != "items nextCursor" || len(items(t, first)) != 50 || !more {
			t.Errorf("%s begins with %d items, %s, then %q", path, len(items(t, first)), names(first), cursor)
		}
		foreign[path] = cursor
		rest := h.call("GET", path+"?cursor="+cursor, "").object(200)
		if next, known := rest["nextCursor"]; next != nil || !known {
			t.Errorf("%s ends with nextCursor %v", path, next)
		}
		all := h.call("GET", path+"?limit=1000", "").object(200)
		joined := append(items(t, first), items(t, rest)...)
		if got, want := fmt.Sprint(joined), fmt.Sprint(items(t, all)); got != want {
			t.Errorf("%s in pages is not what it is in one", path)
		}
		var moments []string
		for _, i := range items(t, all) {
			moments = append(moments, order(i))
		}
		if path == "/agent-executions" {
			slices.Reverse(moments)
		}
		if !slices.IsSorted(moments) || len(moments) < 51 {
			t.Errorf("the order of %s is %v", path, moments)
		}
	}
	for path := range pages {
		for other, cursor := range foreign {
			if other != path {
				r := h.call("GET", path+"?cursor="+cursor, "")
				if r.status != 200 {
					r.problem(400, "invalid_argument", "cursor")
				}
			}
		}
		for _, forged := range []string{"%21", uuid.NewString(), "%7B%7D", "-1", "1.5", strings.Repeat("A", 300)} {
			h.call("GET", path+"?cursor="+forged, "").problem(400, "invalid_argument", "cursor")
		}
	}
	page := h.call("GET", h.path(x.ID, "/events"), "").object(200)
	if n := len(items(t, page)); n != 50 || page["upToDate"] != false || page["nextCursor"] == "" {
		t.Errorf("a page of events has %d, %v", n, page["upToDate"])
	}
}

// Whatever may be said in any case is taken in any case, and shown in one.
func TestEnumsAreTakenInAnyCase(t *testing.T) {
	h := open(t)
	for mode, want := range map[string]string{"remote": "REMOTE", "Remote": "REMOTE", "REMOTE": "REMOTE", "local": "LOCAL", "LoCaL": "LOCAL"} {
		if got := h.call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`,"persistenceMode":"`+mode+`"}`).object(201)["persistenceMode"]; got != want {
			t.Errorf("%s is shown as %v", mode, got)
		}
	}
	for _, status := range []string{"pending", "Pending", "PENDING"} {
		if n := len(items(t, h.call("GET", "/agent-executions?status="+status, "").object(200))); n != 5 {
			t.Errorf("status=%s gives %d", status, n)
		}
	}
}

// Each member of a new execution's body has its effect, and what is left out has
// its default.
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

// A kind that a worker has registered is remembered, in its org alone; another
// is refused with those that there are.
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
	other := h.call("POST", "./api/orgs/other/agent-executions", `{"kind":"count","input":{"n":1}}`, "Authorization", "Bearer "+secret).problem(400, "invalid_argument", "kind")
	if strings.Contains(other.Detail, "react-agent") {
		t.Errorf("another org is told of ours: %q", other.Detail)
	}
	// No worker is connected to this one.
	h.restarted().call("POST", "/agent-executions", `{"kind":"count","input":{"n":1}}`).want(201, nil)
}

// With a definition, config is merged member by member, and whatever else is
// given replaces what the definition has.
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
		``: whole(s, "m", tools, config),
		`,"config":{"maxTurns":4}`:                                    whole(s, "m", tools, strings.Replace(config, ":3", ":4", 1)),
		`,"config":{"maxTokens":8}`:                                   whole(s, "m", tools, strings.Replace(config, ":9", ":8", 1)),
		`,"config":{"temperature":0}`:                                 whole(s, "m", tools, strings.Replace(config, ":0.5", ":0", 1)),
		`,"config":{"thinking":"off"}`:                                whole(s, "m", tools, strings.Replace(config, "high", "off", 1)),
		`,"config":{}`:                                                whole(s, "m", tools, config),
		`,"tools":["find"]`:                                           whole(s, "m", `["find"]`, config),
		`,"tools":[]`:                                                 whole(s, "m", `[]`, config),
		`,"systemPrompt":"t"`:                                         whole(`"systemPrompt":"t",`, "m", tools, config),
		`,"systemPrompt":""`:                                          whole("", "m", tools, config),
		`,"models":[{"provider":"scripted","modelId":"other model"}]`: whole(s, "other model", tools, config),
	} {
		if got := input(more); got != want {
			t.Errorf("with %s it is\n%s\nwant\n%s", more, got, want)
		}
	}
}

// A definition is replaced as a whole, at the version that was read if one is
// named.
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
	h.call("PUT", at, full).want(200, nil) // without a version, whichever it is
	h.call("PUT", at, `{"name":"e"}`).problem(400, "invalid_argument", "models")
	h.call("PUT", at, `{`+models+`}`).problem(400, "invalid_argument", "name")
	h.call("PUT", at, `{"name":"e","nmae":"f",`+models+`}`).problem(400, "invalid_argument", "nmae")
}

// What a body is said to be matters as little as it can; what it is, matters.
func TestBodiesOfOtherTypes(t *testing.T) {
	h := open(t)
	body := `{"userPrompt":"hi",` + models + `}`
	for contentType, status := range map[string]int{
		"application/json": 201, "application/json; charset=utf-8": 201, "Application/JSON": 201, "application/merge-patch+json": 201,
		"text/plain": 201, "application/x-www-form-urlencoded": 201, "": 201,
		"text/xml": 400, "application/octet-stream": 400, "multipart/form-data; boundary=x": 400, "application/cbor": 400,
	} {
		r := h.call("POST", "/agent-executions", body, "Content-Type", contentType)
		if r.status != status {
			t.Errorf("%q is answered %d %s", contentType, r.status, r.body)
		}
		if r.status == 400 {
			r.problem(400, "invalid_argument", "")
		}
	}
	for _, bad := range []string{`{`, `null`, `"x"`, `7`, `[]`, ``, ` `, `{}{}`, "\x00", `{"userPrompt":"` + "\xff" + `"`} {
		if r := h.call("POST", "/agent-executions", bad); r.status != 400 {
			t.Errorf("%q is answered %d %s", bad, r.status, r.body)
		}
	}
	id := h.start("").ID
	for path, unknown := range map[string]string{
		"/agent-executions":       `{"userPrompt":"hi",` + models + `,"unknown":1}`,
		h.path(id, "/signal"):     `{"signalName":"a","unknown":1}`,
		"/agent-definitions":      `{"name":"d",` + models + `,"unknown":1}`,
		"./api/login":             `{"key":"x","unknown":1}`,
		"/agent-executions?nth=2": `{"userPrompt":"hi","models":[{"provider":"scripted","modelId":"m","unknown":1}]}`,
	} {
		if p := h.call("POST", path, unknown).problem(400, "invalid_argument", ""); !strings.HasSuffix(p.Errors[0].Location, "unknown") {
			t.Errorf("%s: the field at fault is %q", path, p.Errors[0].Location)
		}
	}
}

// A cancel of what runs is accepted and goes on; of what has ended it changes
// nothing.
func TestCancelOfEachStatus(t *testing.T) {
	h := open(t)
	running := h.start("")
	run := h.claim()
	got := h.call("DELETE", h.path(running.ID, ""), "").object(202)
	if got["status"] != "CANCELLING" || got["completedAt"] != nil {
		t.Errorf("a running execution is %v", got["status"])
	}
	h.call("DELETE", h.path(running.ID, ""), "").want(202, nil) // it has not ended
	run.commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeCancelled}})
	ended := h.call("GET", h.path(running.ID, ""), "").want(200, nil)
	if after := h.call("DELETE", h.path(running.ID, ""), "").want(200, nil); string(after.body) != string(ended.body) {
		t.Errorf("it was\n%s\nand is\n%s", ended.body, after.body)
	}
	waiting := h.start("")
	h.claim().commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: ptr(perdure.WaitSignal("userMessage"))}})
	if got := h.call("DELETE", h.path(waiting.ID, ""), "").object(202); got["status"] != "CANCELLED" {
		t.Errorf("a waiting execution is %v", got["status"])
	}
}

// The value of a userMessage is a text or parts; of another signal, any JSON.
func TestValuesOfSignals(t *testing.T) {
	h := open(t)
	at := h.path(h.start("").ID, "/signal")
	for _, value := range []string{`{"text":"x"}`, `{"parts":[{"type":"text","text":"x"}]}`, `{"parts":[{"type":"image","data":"aGk=","mimeType":"image/png"}]}`} {
		h.call("POST", at, `{"signalName":"userMessage","signalValue":`+value+`}`).shape(200, `{"signalId":"U1","status":"PENDING"}`)
	}
	for _, value := range []string{`"x"`, `{}`, `null`, `{"text":""}`, `{"text":1}`, `{"parts":[]}`, `{"parts":[{"type":"toolCall","id":"a","name":"b"}]}`} {
		h.call("POST", at, `{"signalName":"userMessage","signalValue":`+value+`}`).problem(400, "invalid_argument", "")
	}
	h.call("POST", at, `{"signalName":"userMessage"}`).problem(400, "invalid_argument", "")
	for _, name := range []string{"", "a..b", "*", "a.*", big(201)} {
		h.call("POST", at, `{"signalName":"`+name+`"}`).problem(400, "invalid_argument", "signalName")
	}
}

// The server itself appends nothing when an execution begins: its first entry is
// its worker's.
func TestNoEntryBeforeTheWorkers(t *testing.T) {
	h := open(t)
	at := h.path(h.start(`,"systemPrompt":"be kind"`).ID, "")
	none := func() {
		t.Helper()
		for _, path := range []string{"/entries", "/entries?all=true"} {
			h.call("GET", at+path, "").shape(200, `{"items":[],"nextCursor":null}`)
		}
	}
	none()
	h.call("POST", at+"/signal", `{"signalName":"userMessage","signalValue":{"text":"x"}}`).want(200, nil)
	run := h.claim()
	none()
	run.say(userText("hi"))
	if all := items(t, h.call("GET", at+"/entries?all=true", "").object(200)); len(all) != 1 || all[0]["role"] != "user" {
		t.Errorf("the entries are %v", all)
	}
}

// What needs no key is there without one.
func TestWhatIsBesideTheOrgs(t *testing.T) {
	h := open(t)
	for path, contentType := range map[string]string{
		"./openapi.json": "application/json", "./docs": "text/html; charset=utf-8", "./healthz": "application/json", "./readyz": "application/json",
	} {
		r := h.call("GET", path, "", "Authorization", "").want(200, nil)
		if got := r.header.Get("Content-Type"); got != contentType {
			t.Errorf("%s is %q", path, got)
		}
	}
	if v, _ := h.call("GET", "./openapi.json", "").object(http.StatusOK)["openapi"].(string); !strings.HasPrefix(v, "3.") {
		t.Errorf("the document is of version %q", v)
	}
}
