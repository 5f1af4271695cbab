package rest_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

const pendingShape = `{"id":"U1","kind":"react-agent","status":"PENDING","persistenceMode":"REMOTE","agentDefinitionId":null,` +
	`"input":{"userPrompt":"hi","models":[{"provider":"scripted","modelId":"m"}],"tools":[],"config":{},"oneShot":false},` +
	`"output":null,"error":null,"errorCode":null,"queue":"default","workspace":".","currentCheckpointSeq":0,"maxSeq":1,"workerId":null,` +
	`"metadata":{"a":"b"},"createdAt":"T","updatedAt":"T","startedAt":null,"completedAt":null,"version":1,"recordsSinceCheckpoint":0,"traceparent":null}`

func TestExecutionShape(t *testing.T) {
	h := open(t)
	r := h.Call("POST", "/agent-executions", `{"userPrompt":"hi",`+models+`,"metadata":{"a":"b"}}`).Shape(201, pendingShape)
	var x perdure.Execution
	r.Want(201, &x)
	if at := r.Header.Get("Location"); at != org+h.Path(x.ID, "") {
		t.Errorf("Location %q", at)
	}
	h.Call("GET", h.Path(x.ID, ""), "").Shape(200, pendingShape)

	run := h.Claim()
	run.Say(userText("hi"))
	run.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: new(perdure.WaitSignal("userMessage"))}})
	var waiting map[string]any
	h.Call("GET", h.Path(x.ID, ""), "").Want(200, &waiting)
	if waiting["status"] != "WAITING" || waiting["waitReason"] != "signal" || waiting["wait"] == nil || waiting["currentCheckpointSeq"] != float64(1) {
		t.Errorf("waiting: %v", waiting)
	}
}

func TestKindsOtherThanReactTakeInput(t *testing.T) {
	h := open(t)
	var x perdure.Execution
	h.Call("POST", "/agent-executions", `{"kind":"count","input":{"n": 3}}`).Want(201, &x)
	if string(x.Input) != `{"n":3}` || x.Kind != "count" {
		t.Errorf("input %s", x.Input)
	}
	h.Call("POST", "/agent-executions", `{"kind":"count","input":{"n":"x"}}`).Problem(400, "invalid_argument", "input.n")
	h.Call("POST", "/agent-executions", `{"kind":"nothing"}`).Problem(400, "invalid_argument", "kind")
}

func TestCancelShapes(t *testing.T) {
	h := open(t)
	x := h.Start("")
	var after perdure.Execution
	h.Call("DELETE", h.Path(x.ID, ""), "").Want(202, &after)
	if after.Status != perdure.StatusCancelled || after.CompletedAt == nil {
		t.Errorf("cancelled: %+v", after)
	}
	var again perdure.Execution
	h.Call("DELETE", h.Path(x.ID, ""), "").Want(200, &again)
	if again.Version != after.Version {
		t.Error("a terminal execution was changed")
	}
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"userMessage","signalValue":{"text":"x"}}`).Problem(409, "execution_ended", "")
}

func TestSignalShape(t *testing.T) {
	h := open(t)
	x := h.Start("")
	for range 2 {
		h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"userMessage","signalValue":{"text":"hello"},"signalId":"one"}`).
			Shape(200, `{"signalId":"one","status":"PENDING"}`)
	}
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"go"}`).Shape(200, `{"signalId":"U1","status":"PENDING","unexpected":true}`)
	const one, two = `{"signalId":"one","signalName":"userMessage","signalValue":{"text":"hello"},"state":"pending","responseId":"R","createdAt":"T"}`,
		`{"signalId":"U1","signalName":"go","signalValue":null,"state":"pending","responseId":"R","createdAt":"T"}`
	h.Call("GET", h.Path(x.ID, "/signals"), "").Shape(200, `{"items":[`+one+`,`+two+`],"nextCursor":null}`)
	h.Call("GET", h.Path(x.ID, "/signals?limit=1"), "").Shape(200, `{"items":[`+one+`],"nextCursor":"C"}`)
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalValue":1}`).Problem(400, "invalid_argument", "signalName")
	h.Call("POST", h.Path(x.ID, "/signal"), `{"signalName":"userMessage","signalValue":1}`).Problem(400, "invalid_argument", "signalValue")
}

func TestPartShapes(t *testing.T) {
	h := open(t)
	x := h.Start("")
	run := h.Claim()
	run.Say(userText("hi"))
	run.Task("bash", "one")
	last := run.Say(assistantText("ho"))
	const first = `{"sequence":1,"leafEntryId":"U1","state":{"n":1},"metadata":{"checkpoint_reason":"turn","entry_count":1},"createdAt":"T"}`
	h.Call("GET", h.Path(x.ID, "/checkpoints/1"), "").Shape(200, first)
	h.Call("GET", h.Path(x.ID, "/checkpoints?limit=1"), "").Shape(200, `{"items":[`+first+`],"nextCursor":"C"}`)
	var latest perdure.Checkpoint
	h.Call("GET", h.Path(x.ID, "/checkpoints/latest"), "").Want(200, &latest)
	if latest.Sequence != 2 || *latest.LeafEntryID != last.ID {
		t.Errorf("the newest is %+v", latest)
	}
	h.Call("GET", h.Path(x.ID, "/tasks"), "").Shape(200, `{"items":[{"id":"U1","agentExecutionId":"U2","kind":"bash","status":"COMPLETED",`+
		`"queue":"default","attempt":1,"maxAttempts":3,"input":{"a":1},"result":"ok","error":null,"workerId":null,"createdAt":"T","startedAt":"T","completedAt":"T"}],"nextCursor":null}`)
	const entry = `{"id":"U1","parentId":null,"entryType":"message","role":"user","turnId":null,"responseId":"R","messageId":"U1","content":{"parts":[{"type":"text","text":"hi"}]},"metadata":null,"createdAt":"T"}`
	h.Call("GET", h.Path(x.ID, "/entries?limit=1"), "").Shape(200, `{"items":[`+entry+`],"nextCursor":"C"}`)
	h.Call("GET", h.Path(x.ID, "/entries/"+last.ID.String()), "").
		Shape(200, `{"id":"U1","parentId":"U2","entryType":"message","role":"assistant","turnId":null,"responseId":"R","messageId":"U1","content":{"parts":[{"type":"text","text":"ho"}]},"metadata":null,"createdAt":"T"}`)
	for _, missing := range []string{"/checkpoints/3", "/checkpoints/0", "/checkpoints/x", "/entries/x", "/entries/" + uuid.NewString(), "/tasks/x"} {
		h.Call("GET", h.Path(x.ID, missing), "").Problem(404, "not_found", "")
	}
	h.Call("GET", h.Path(h.Start("").ID, "/checkpoints/latest"), "").Problem(404, "not_found", "")
}

func TestSnapshotShape(t *testing.T) {
	h := open(t)
	x := h.Start(`,"metadata":{"a":"b"}`)
	run := h.Claim()
	for i := range 3 {
		run.Say(userText(fmt.Sprint(i)))
	}
	run.Stream(0, 0, perdure.EventToken, "Hel")
	run.Stream(0, 3, perdure.EventToken, "lo")
	var snap struct {
		Execution     perdure.Execution
		Entries       []perdure.Entry
		EntriesBefore int
		OpenBlocks    []map[string]any
		Cursor        string
	}
	h.Call("GET", h.Path(x.ID, "/snapshot?entries=2"), "").Want(200, &snap)
	if snap.Execution.ID != x.ID || len(snap.Entries) != 2 || snap.EntriesBefore != 1 || snap.Entries[1].ID != *run.Leaf {
		t.Errorf("the snapshot is %+v", snap)
	}
	if len(snap.OpenBlocks) != 1 || snap.OpenBlocks[0]["data"] != "Hello" || snap.OpenBlocks[0]["snapshot"] != true {
		t.Errorf("open blocks %v", snap.OpenBlocks)
	}
	var events struct{ Items []any }
	h.Call("GET", h.Path(x.ID, "/events?after="+snap.Cursor), "").Want(200, &events)
	if len(events.Items) != 0 {
		t.Errorf("after the snapshot comes %v", events.Items)
	}
	h.Call("GET", h.Path(x.ID, "/snapshot"), "").Want(200, &snap)
	if len(snap.Entries) != 3 || snap.EntriesBefore != 0 {
		t.Errorf("the whole snapshot has %d entries, %d before", len(snap.Entries), snap.EntriesBefore)
	}
}

func TestEventPages(t *testing.T) {
	h := open(t)
	r := play(h)
	whole := h.Follow(h.Path(r.ID, "/stream/consolidated")).All()
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
		h.Call("GET", h.Path(r.ID, "/events?limit=4&after="+after), "").Want(200, &p)
		for _, i := range p.Items {
			if want := whole[n]; i.Cursor != want.ID || i.Event != want.Event || string(i.Data) != want.Data {
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
	h.Call("GET", h.Path(r.ID, "/events?after=AAAAAAAAAAEB"), "").Want(200, &p)
	if p.Reset == nil || p.Reset.Reason != "epoch" || len(p.Items) == 0 {
		t.Errorf("another log's cursor gives %+v", p)
	}
	h.Call("GET", h.Path(r.ID, "/events?after=x"), "").Problem(400, "invalid_argument", "after")
}

func TestDefinitions(t *testing.T) {
	h := open(t)
	body := `{"name":"My Agent!","description":"d","systemPrompt":"s",` + models + `,"tools":["bash"],"config":{"maxTurns":3},"metadata":{"k":1}}`
	const want = `{"id":"U1","name":"My Agent!","slug":"my-agent","description":"d","systemPrompt":"s","models":[{"provider":"scripted","modelId":"m"}],` +
		`"tools":["bash"],"config":{"maxTurns":3},"metadata":{"k":1},"createdAt":"T","updatedAt":"T","version":1}`
	made := h.Call("POST", "/agent-definitions", body).Shape(201, want)
	var d perdure.Definition
	made.Want(201, &d)
	at := "/agent-definitions/" + d.ID.String()
	got := h.Call("GET", at, "").Shape(200, want)
	if got.Header.Get("ETag") != `"1"` {
		t.Errorf("ETag %q", got.Header.Get("ETag"))
	}
	h.Call("GET", "/agent-definitions", "").Shape(200, `{"items":[`+want+`],"nextCursor":null}`)

	var second perdure.Definition
	h.Call("POST", "/agent-definitions", body).Want(201, &second)
	if second.Slug == d.Slug {
		t.Errorf("two definitions with the slug %q", d.Slug)
	}
	h.Call("POST", "/agent-definitions", `{"name":"x","slug":"my-agent",`+models+`}`).Problem(409, "already_exists", "")

	// A definition that was read can be sent back unchanged.
	h.Call("PUT", at, string(got.Body), "If-Match", `"1"`).Want(200, &d)
	if d.Version != 2 || d.Slug != "my-agent" {
		t.Errorf("stored %+v", d)
	}
	h.Call("PUT", at, string(got.Body), "If-Match", "1").Problem(409, "conflict", "")
	h.Call("PUT", at, string(got.Body), "If-Match", "x").Problem(400, "invalid_argument", "If-Match")
	h.Call("PUT", at, `{"name":"New",`+models+`}`).Want(200, &d)
	if d.Slug != "my-agent" || d.SystemPrompt != "" || len(d.Tools) != 0 {
		t.Errorf("replaced by %+v", d)
	}

	x := h.Call("POST", "/agent-executions", `{"agentDefinitionId":"`+second.ID.String()+`","userPrompt":"hi","config":{"maxTokens":9}}`)
	var started perdure.Execution
	x.Want(201, &started)
	var in perdure.ReactInput
	if err := json.Unmarshal(started.Input, &in); err != nil || in.SystemPrompt != "s" || *in.Config.MaxTurns != 3 || *in.Config.MaxTokens != 9 {
		t.Errorf("the definition was not copied: %s", started.Input)
	}
	h.Call("DELETE", "/agent-definitions/"+second.ID.String(), "").Want(204, nil)
	h.Call("GET", "/agent-definitions/"+second.ID.String(), "").Problem(404, "not_found", "")
	h.Call("DELETE", "/agent-definitions/"+second.ID.String(), "").Problem(404, "not_found", "")
	var kept perdure.Execution
	h.Call("GET", h.Path(started.ID, ""), "").Want(200, &kept)
	if kept.DefinitionID != nil || string(kept.Input) != string(started.Input) {
		t.Errorf("after the delete: %+v", kept)
	}
	h.Call("POST", "/agent-executions", `{"agentDefinitionId":"`+second.ID.String()+`"}`).Problem(404, "not_found", "")
}

func TestKeys(t *testing.T) {
	h := open(t)
	admin := []string{"Authorization", "Bearer " + h.AdminKey}
	var made perdure.APIKey
	h.Call("POST", "/keys", `{"name":"ci","role":"client"}`, admin...).Want(201, &made).
		Shape(201, `{"id":"U1","org":"default","name":"ci","role":"client","createdAt":"T","revokedAt":null,"limits":{},"key":"SECRET"}`)
	var keys page[perdure.APIKey]
	r := h.Call("GET", "/keys", "", admin...).Want(200, &keys)
	if len(keys.Items) != 4 || keys.NextCursor != nil || facetest.Secrets.Match(r.Body) {
		t.Errorf("the keys are %s", r.Body)
	}
	var revoked perdure.APIKey
	h.Call("DELETE", "/keys/"+made.ID.String(), "", admin...).Want(200, &revoked)
	if revoked.RevokedAt == nil {
		t.Errorf("revoked: %+v", revoked)
	}
	h.Call("DELETE", "/keys/"+uuid.NewString(), "", admin...).Problem(404, "not_found", "")
	h.Call("POST", "/keys", `{"name":"ci","role":"god"}`, admin...).Problem(400, "invalid_argument", "role")
	h.Call("POST", "/keys", `{"role":"client"}`, admin...).Problem(400, "invalid_argument", "name")
	h.Call("GET", "/keys", "").Problem(403, "permission_denied", "")
}
