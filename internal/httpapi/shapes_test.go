package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

var (
	uuids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	secrets   = regexp.MustCompile(`prd_[A-Za-z0-9_-]+`)
	responses = regexp.MustCompile(`resp_[A-Za-z0-9]+`)
	cursors   = regexp.MustCompile(`"(cursor|nextCursor)":"[A-Za-z0-9_-]+"`)
)

// shape normalises a body: it replaces ids by U1, U2 in order of appearance, and times by T.
func shape(body []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, body); err != nil {
		return err.Error()
	}
	seen := map[string]string{}
	s := uuids.ReplaceAllStringFunc(b.String(), func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("U%d", len(seen)+1)
		}
		return seen[id]
	})
	s = secrets.ReplaceAllString(times.ReplaceAllString(s, "T"), "SECRET")
	return cursors.ReplaceAllString(responses.ReplaceAllString(s, "R"), `"$1":"C"`)
}

func (r reply) shape(status int, want string) reply {
	r.t.Helper()
	r.want(status, nil)
	if got := shape(r.body); got != want {
		r.t.Errorf("got  %s\nwant %s", got, want)
	}
	return r
}

const pendingShape = `{"id":"U1","kind":"react-agent","status":"PENDING","persistenceMode":"REMOTE","agentDefinitionId":null,` +
	`"input":{"userPrompt":"hi","models":[{"provider":"scripted","modelId":"m"}],"tools":[],"config":{},"oneShot":false},` +
	`"output":null,"error":null,"errorCode":null,"queue":"default","workspace":".","currentCheckpointSeq":0,"maxSeq":1,"workerId":null,` +
	`"metadata":{"a":"b"},"createdAt":"T","updatedAt":"T","startedAt":null,"completedAt":null,"version":1,"recordsSinceCheckpoint":0,"traceparent":null}`

func TestExecutionShape(t *testing.T) {
	h := open(t)
	r := h.call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`,"metadata":{"a":"b"}}`).shape(201, pendingShape)
	var x perdure.Execution
	r.want(201, &x)
	if at := r.header.Get("Location"); at != org+h.path(x.ID, "") {
		t.Errorf("Location %q", at)
	}
	h.call("GET", h.path(x.ID, ""), "").shape(200, pendingShape)

	run := h.claim()
	run.say(userText("hi"))
	run.commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: ptr(perdure.WaitSignal("userMessage"))}})
	var waiting map[string]any
	h.call("GET", h.path(x.ID, ""), "").want(200, &waiting)
	if waiting["status"] != "WAITING" || waiting["waitReason"] != "signal" || waiting["wait"] == nil || waiting["currentCheckpointSeq"] != float64(1) {
		t.Errorf("waiting: %v", waiting)
	}
}

func ptr[T any](v T) *T { return &v }

func TestKindsOtherThanReactTakeInput(t *testing.T) {
	h := open(t)
	var x perdure.Execution
	h.call("POST", "/agent-executions", `{"kind":"count","input":{"n": 3}}`).want(201, &x)
	if string(x.Input) != `{"n":3}` || x.Kind != "count" {
		t.Errorf("input %s", x.Input)
	}
	h.call("POST", "/agent-executions", `{"kind":"count","input":{"n":"x"}}`).problem(400, "invalid_argument", "input.n")
	h.call("POST", "/agent-executions", `{"kind":"nothing"}`).problem(400, "invalid_argument", "kind")
}

func TestCancelShapes(t *testing.T) {
	h := open(t)
	x := h.start("")
	var after perdure.Execution
	h.call("DELETE", h.path(x.ID, ""), "").want(202, &after)
	if after.Status != perdure.StatusCancelled || after.CompletedAt == nil {
		t.Errorf("cancelled: %+v", after)
	}
	var again perdure.Execution
	h.call("DELETE", h.path(x.ID, ""), "").want(200, &again)
	if again.Version != after.Version {
		t.Error("a terminal execution was changed")
	}
	h.call("POST", h.path(x.ID, "/signal"), `{"signalName":"userMessage","signalValue":{"text":"x"}}`).problem(409, "execution_ended", "")
}

func TestSignalShape(t *testing.T) {
	h := open(t)
	x := h.start("")
	for range 2 {
		h.call("POST", h.path(x.ID, "/signal"), `{"signalName":"userMessage","signalValue":{"text":"hello"},"signalId":"one"}`).
			shape(200, `{"signalId":"one","status":"PENDING"}`)
	}
	h.call("POST", h.path(x.ID, "/signal"), `{"signalName":"go"}`).shape(200, `{"signalId":"U1","status":"PENDING"}`)
	h.call("POST", h.path(x.ID, "/signal"), `{"signalValue":1}`).problem(400, "invalid_argument", "signalName")
	h.call("POST", h.path(x.ID, "/signal"), `{"signalName":"userMessage","signalValue":1}`).problem(400, "invalid_argument", "signalValue")
}

func TestPartShapes(t *testing.T) {
	h := open(t)
	x := h.start("")
	run := h.claim()
	run.say(userText("hi"))
	run.task("bash", "one")
	last := run.say(assistantText("ho"))
	const first = `{"sequence":1,"leafEntryId":"U1","state":{"n":1},"metadata":{"checkpoint_reason":"turn","entry_count":1},"createdAt":"T"}`
	h.call("GET", h.path(x.ID, "/checkpoints/1"), "").shape(200, first)
	h.call("GET", h.path(x.ID, "/checkpoints?limit=1"), "").shape(200, `{"items":[`+first+`],"nextCursor":"C"}`)
	var latest perdure.Checkpoint
	h.call("GET", h.path(x.ID, "/checkpoints/latest"), "").want(200, &latest)
	if latest.Sequence != 2 || *latest.LeafEntryID != last.ID {
		t.Errorf("the newest is %+v", latest)
	}
	h.call("GET", h.path(x.ID, "/tasks"), "").shape(200, `{"items":[{"id":"U1","agentExecutionId":"U2","kind":"bash","status":"COMPLETED",`+
		`"queue":"default","attempt":1,"maxAttempts":3,"input":{"a":1},"result":"ok","error":null,"workerId":null,"createdAt":"T","startedAt":"T","completedAt":"T"}],"nextCursor":null}`)
	const entry = `{"id":"U1","parentId":null,"entryType":"message","role":"user","turnId":null,"responseId":"R","messageId":"U1","content":{"parts":[{"type":"text","text":"hi"}]},"metadata":null,"createdAt":"T"}`
	h.call("GET", h.path(x.ID, "/entries?limit=1"), "").shape(200, `{"items":[`+entry+`],"nextCursor":"C"}`)
	h.call("GET", h.path(x.ID, "/entries/"+last.ID.String()), "").
		shape(200, `{"id":"U1","parentId":"U2","entryType":"message","role":"assistant","turnId":null,"responseId":"R","messageId":"U1","content":{"parts":[{"type":"text","text":"ho"}]},"metadata":null,"createdAt":"T"}`)
	for _, missing := range []string{"/checkpoints/3", "/checkpoints/0", "/checkpoints/x", "/entries/x", "/entries/" + uuid.NewString(), "/tasks/x"} {
		h.call("GET", h.path(x.ID, missing), "").problem(404, "not_found", "")
	}
	h.call("GET", h.path(h.start("").ID, "/checkpoints/latest"), "").problem(404, "not_found", "")
}

func TestSnapshotShape(t *testing.T) {
	h := open(t)
	x := h.start(`,"metadata":{"a":"b"}`)
	run := h.claim()
	for i := range 3 {
		run.say(userText(fmt.Sprint(i)))
	}
	run.stream(0, 0, perdure.EventToken, "Hel")
	run.stream(0, 3, perdure.EventToken, "lo")
	var snap struct {
		Execution     perdure.Execution
		Entries       []perdure.Entry
		EntriesBefore int
		OpenBlocks    []map[string]any
		Cursor        string
	}
	h.call("GET", h.path(x.ID, "/snapshot?entries=2"), "").want(200, &snap)
	if snap.Execution.ID != x.ID || len(snap.Entries) != 2 || snap.EntriesBefore != 1 || snap.Entries[1].ID != *run.leaf {
		t.Errorf("the snapshot is %+v", snap)
	}
	if len(snap.OpenBlocks) != 1 || snap.OpenBlocks[0]["data"] != "Hello" || snap.OpenBlocks[0]["snapshot"] != true {
		t.Errorf("open blocks %v", snap.OpenBlocks)
	}
	var events struct{ Items []any }
	h.call("GET", h.path(x.ID, "/events?after="+snap.Cursor), "").want(200, &events)
	if len(events.Items) != 0 {
		t.Errorf("after the snapshot comes %v", events.Items)
	}
	h.call("GET", h.path(x.ID, "/snapshot"), "").want(200, &snap)
	if len(snap.Entries) != 3 || snap.EntriesBefore != 0 {
		t.Errorf("the whole snapshot has %d entries, %d before", len(snap.Entries), snap.EntriesBefore)
	}
}

func TestEventPages(t *testing.T) {
	h := open(t)
	r := play(h)
	whole := h.follow(h.path(r.id, "/stream/consolidated")).all()
	type eventPage struct {
		Items []struct {
			Cursor, Event string
			Data          json.RawMessage
		}
		NextCursor string
		UpToDate   bool
		Reset      *struct{ Reason string }
	}
	n, after := 0, ""
	for {
		var p eventPage
		h.call("GET", h.path(r.id, "/events?limit=4&after="+after), "").want(200, &p)
		for _, i := range p.Items {
			if want := whole[n]; i.Cursor != want.id || i.Event != want.event || string(i.Data) != want.data {
				t.Errorf("item %d is %+v, want %+v", n, i, want)
			}
			n++
		}
		after = p.NextCursor
		if p.UpToDate {
			break
		}
	}
	if n != len(whole)-1 {
		t.Errorf("the pages hold %d events", n)
	}
	var p eventPage
	h.call("GET", h.path(r.id, "/events?after=AAAAAAAAAAEB"), "").want(200, &p)
	if p.Reset == nil || p.Reset.Reason != "epoch" || len(p.Items) == 0 {
		t.Errorf("another log's cursor gives %+v", p)
	}
	h.call("GET", h.path(r.id, "/events?after=x"), "").problem(400, "invalid_argument", "after")
}

func TestDefinitions(t *testing.T) {
	h := open(t)
	body := `{"name":"My Agent!","description":"d","systemPrompt":"s",` + models + `,"tools":["bash"],"config":{"maxTurns":3},"metadata":{"k":1}}`
	const want = `{"id":"U1","name":"My Agent!","slug":"my-agent","description":"d","systemPrompt":"s","models":[{"provider":"scripted","modelId":"m"}],` +
		`"tools":["bash"],"config":{"maxTurns":3},"metadata":{"k":1},"createdAt":"T","updatedAt":"T","version":1}`
	made := h.call("POST", "/agent-definitions", body).shape(201, want)
	var d perdure.Definition
	made.want(201, &d)
	at := "/agent-definitions/" + d.ID.String()
	got := h.call("GET", at, "").shape(200, want)
	if got.header.Get("ETag") != `"1"` {
		t.Errorf("ETag %q", got.header.Get("ETag"))
	}
	h.call("GET", "/agent-definitions", "").shape(200, `{"items":[`+want+`],"nextCursor":null}`)

	var second perdure.Definition
	h.call("POST", "/agent-definitions", body).want(201, &second)
	if second.Slug == d.Slug {
		t.Errorf("two definitions with the slug %q", d.Slug)
	}
	h.call("POST", "/agent-definitions", `{"name":"x","slug":"my-agent",`+models+`}`).problem(409, "already_exists", "")

	// A body that was read can be sent back.
	h.call("PUT", at, string(got.body), "If-Match", `"1"`).want(200, &d)
	if d.Version != 2 || d.Slug != "my-agent" {
		t.Errorf("stored %+v", d)
	}
	h.call("PUT", at, string(got.body), "If-Match", "1").problem(409, "conflict", "")
	h.call("PUT", at, string(got.body), "If-Match", "x").problem(400, "invalid_argument", "If-Match")
	h.call("PUT", at, `{"name":"New",`+models+`}`).want(200, &d)
	if d.Slug != "my-agent" || d.SystemPrompt != "" || len(d.Tools) != 0 {
		t.Errorf("replaced by %+v", d)
	}

	x := h.call("POST", "/agent-executions", `{"agentDefinitionId":"`+second.ID.String()+`","userPrompt":"hi","config":{"maxTokens":9}}`)
	var started perdure.Execution
	x.want(201, &started)
	var in perdure.ReactInput
	if err := json.Unmarshal(started.Input, &in); err != nil || in.SystemPrompt != "s" || *in.Config.MaxTurns != 3 || *in.Config.MaxTokens != 9 {
		t.Errorf("the definition was not copied: %s", started.Input)
	}
	h.call("DELETE", "/agent-definitions/"+second.ID.String(), "").want(204, nil)
	h.call("GET", "/agent-definitions/"+second.ID.String(), "").problem(404, "not_found", "")
	h.call("DELETE", "/agent-definitions/"+second.ID.String(), "").problem(404, "not_found", "")
	var kept perdure.Execution
	h.call("GET", h.path(started.ID, ""), "").want(200, &kept)
	if kept.DefinitionID != nil || string(kept.Input) != string(started.Input) {
		t.Errorf("after the delete: %+v", kept)
	}
	h.call("POST", "/agent-executions", `{"agentDefinitionId":"`+second.ID.String()+`"}`).problem(404, "not_found", "")
}

func TestKeys(t *testing.T) {
	h := open(t)
	admin := []string{"Authorization", "Bearer " + h.admin}
	var made perdure.APIKey
	h.call("POST", "/keys", `{"name":"ci","role":"client"}`, admin...).want(201, &made).
		shape(201, `{"id":"U1","org":"default","name":"ci","role":"client","createdAt":"T","revokedAt":null,"limits":{},"key":"SECRET"}`)
	var keys page[perdure.APIKey]
	r := h.call("GET", "/keys", "", admin...).want(200, &keys)
	if len(keys.Items) != 4 || keys.NextCursor != nil || secrets.Match(r.body) {
		t.Errorf("the keys are %s", r.body)
	}
	var revoked perdure.APIKey
	h.call("DELETE", "/keys/"+made.ID.String(), "", admin...).want(200, &revoked)
	if revoked.RevokedAt == nil {
		t.Errorf("revoked: %+v", revoked)
	}
	h.call("DELETE", "/keys/"+uuid.NewString(), "", admin...).problem(404, "not_found", "")
	h.call("POST", "/keys", `{"name":"ci","role":"god"}`, admin...).problem(400, "invalid_argument", "role")
	h.call("POST", "/keys", `{"role":"client"}`, admin...).problem(400, "invalid_argument", "name")
	h.call("GET", "/keys", "").problem(403, "permission_denied", "")
}
