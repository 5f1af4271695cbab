package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/facetest"
)

const (
	executionNames = "id kind status persistenceMode agentDefinitionId input output error errorCode queue workspace currentCheckpointSeq maxSeq recordsSinceCheckpoint " +
		"workerId traceparent metadata createdAt updatedAt startedAt completedAt version"
	entryNames      = "id parentId entryType role turnId responseId messageId content metadata createdAt"
	definitionNames = "id name slug description systemPrompt models tools config metadata createdAt updatedAt version"
)

// TestObjectsHaveTheirNames checks that the objects of the API have exactly their defined members
// in the states that this test creates.
func TestObjectsHaveTheirNames(t *testing.T) {
	h := open(t)
	x := h.Start("")
	at := h.Path(x.ID, "")
	check := func(what, want string, got map[string]any) {
		t.Helper()
		if names(got) != sorted(want) {
			t.Errorf("%s has\n%s\nwant\n%s", what, names(got), sorted(want))
		}
	}
	check("a pending execution", executionNames, h.Call("GET", at, "").Object(200))
	run := h.Claim()
	run.Say(userText("hi"))
	run.Task("bash", "one")
	check("a running execution", executionNames, h.Call("GET", at, "").Object(200))
	check("an entry", entryNames, h.Call("GET", at+"/entries/"+run.Leaf.String(), "").Object(200))
	check("an entry of a list", entryNames, items(t, h.Call("GET", at+"/entries", "").Object(200))[0])
	check("a checkpoint", "sequence leafEntryId state metadata createdAt", h.Call("GET", at+"/checkpoints/latest", "").Object(200))
	check("a snapshot", "execution entries entriesBefore openBlocks cursor", h.Call("GET", at+"/snapshot", "").Object(200))
	page := h.Call("GET", at+"/events", "").Object(200)
	check("a page of events", "items nextCursor upToDate", page)
	check("an event of a page", "cursor event data", items(t, page)[0])
	reset := h.Call("GET", at+"/events?after=AAAAAAAAAAEB", "").Object(200)
	check("a page with a reset", "items nextCursor upToDate reset", reset)
	check("a reset", "reason firstAvailable lastSeq", reset["reset"].(map[string]any))
	run.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: new(perdure.WaitSignal("userMessage"))}})
	check("a waiting execution", executionNames+" wait waitReason", h.Call("GET", at, "").Object(200))
	check("a cancelled execution", executionNames, h.Call("DELETE", at, "").Object(202))
	check("a definition", definitionNames, h.Call("POST", "/agent-definitions", `{"name":"d",`+models+`}`).Object(201))
	check("an error", "type title status detail code errors", h.Call("GET", h.Path(uuid.New(), ""), "").Object(404))
	wrong := h.Call("POST", "/agent-executions", `{`+models+`,"userPromt":"x"}`).Object(400)
	check("a field at fault", "location message", wrong["errors"].([]any)[0].(map[string]any))
}

var camelCase = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// walk calls the function visit for every member of a JSON value, at every depth.
func walk(v any, at string, visit func(at, name string, value any)) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			visit(at, name, value)
			walk(value, at+"."+name, visit)
		}
	case []any:
		for _, value := range v {
			walk(value, at, visit)
		}
	}
}

// TestNamesAreCamelCaseAndTimesHaveMilliseconds checks that in the tested responses, member names
// are camelCase, and times are UTC with three decimals of a second.
func TestNamesAreCamelCaseAndTimesHaveMilliseconds(t *testing.T) {
	h := open(t)
	made := h.Call("POST", "/agent-definitions", `{"name":"d",`+models+`,"config":{"maxTurns":3,"maxTokens":9}}`).Object(201)
	x := h.Start(`,"agentDefinitionId":"` + made["id"].(string) + `"`)
	run := h.Claim()
	run.Say(userText("hi"))
	run.Task("bash", "one")
	run.Stream(0, 0, "token", "open")
	moments := 0
	look := func(path string, headers ...string) {
		t.Helper()
		var body any
		h.Call("GET", path, "", headers...).Want(200, &body)
		walk(body, path, func(at, name string, value any) {
			// The client chooses the names inside the metadata of checkpoints.
			if !camelCase.MatchString(name) && !strings.HasSuffix(at, ".items.metadata") {
				t.Errorf("%s has %q", at, name)
			}
			if moment, ok := value.(string); ok && strings.HasSuffix(name, "At") {
				if moments++; facetest.Times.FindString(moment) != moment {
					t.Errorf("%s: %s is %q", at, name, moment)
				}
			}
		})
	}
	for _, path := range []string{"", "/entries", "/checkpoints", "/tasks", "/signals", "/events", "/snapshot"} {
		look(h.Path(x.ID, path))
	}
	look("/agent-executions")
	look("/agent-definitions")
	look("/keys", "Authorization", "Bearer "+h.AdminKey)
	if moments < 20 {
		t.Errorf("only %d moments were looked at", moments)
	}
}

// TestContentsAreInlineJSON checks that inputs, outputs, states, results and signal values are
// returned as the JSON that was sent.
func TestContentsAreInlineJSON(t *testing.T) {
	h := open(t)
	for _, value := range []string{`{"n":[1,2.50,"ü<&>",null,{"a":{}}]}`, `"text"`, `[1]`, `7`, `true`, `"aGVsbG8="`} {
		var x map[string]json.RawMessage
		h.Call("POST", "/agent-executions", `{"kind":"anything","input":`+value+`}`).Want(201, &x)
		var id uuid.UUID
		if err := json.Unmarshal(x["id"], &id); err != nil {
			t.Fatal(err)
		}
		run := h.Claim()
		h.Call("POST", h.Path(id, "/signal"), `{"signalName":"go","signalValue":`+value+`}`).Want(200, nil)
		lease := run.Schedule("bash", "one")
		run.Finish(perdure.TaskFinish{Lease: lease, Result: perdure.Inline([]byte(value))})
		run.Commit(perdure.Commit{Checkpoint: &perdure.NewCheckpoint{State: perdure.Inline([]byte(value)), Reason: "test"}})
		run.Commit(perdure.Commit{Outcome: perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte(value))}})
		h.Call("GET", h.Path(id, ""), "").Want(200, &x)
		var checkpoint map[string]json.RawMessage
		h.Call("GET", h.Path(id, "/checkpoints/latest"), "").Want(200, &checkpoint)
		var tasks page[map[string]json.RawMessage]
		h.Call("GET", h.Path(id, "/tasks"), "").Want(200, &tasks)
		var signal json.RawMessage
		for _, e := range h.Follow(h.Path(id, "/stream/consolidated")).All() {
			if e.Event == "signal.received" {
				var data map[string]json.RawMessage
				if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
					t.Fatal(err)
				}
				signal = data["signalValue"]
			}
		}
		for what, got := range map[string]json.RawMessage{
			"input": x["input"], "output": x["output"], "state": checkpoint["state"], "result": tasks.Items[0]["result"], "signalValue": signal,
		} {
			if exact(got) != exact([]byte(value)) {
				t.Errorf("%s came back as %s, was %s", what, got, value)
			}
		}
	}
}

// exact returns JSON in a canonical form with its numbers unchanged.
func exact(raw []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// TestPartsHaveTheirNames checks that the parts of a message are returned with exactly the members
// of their type.
func TestPartsHaveTheirNames(t *testing.T) {
	h := open(t)
	x := h.Start("")
	run := h.Claim()
	run.Say(perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{
		perdure.Text("look"), {Type: perdure.PartImage, Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", MimeType: "image/png"},
	}}})
	run.Say(perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{
		Provider: "scripted", Model: "m", StopReason: perdure.StopToolUse, Usage: &perdure.Usage{Input: 1, Calls: 1},
		Parts: []perdure.Part{
			{Type: perdure.PartThinking, Thinking: "hm", ThinkingSignature: "sig"},
			{Type: perdure.PartThinking, Redacted: true, ThinkingSignature: "sealed"},
			{Type: perdure.PartText, Text: "so", TextSignature: "sig"},
			{Type: perdure.PartToolCall, ID: "call_1", Name: "bash", Arguments: json.RawMessage(`{"a":1}`), RawArguments: `{"a": 1}`},
			{Type: perdure.PartToolCall, ID: "call_2", Name: "bash", Arguments: json.RawMessage(`{}`), RawArguments: `{}`},
		},
	}})
	for _, result := range []perdure.Part{
		{Type: perdure.PartToolResult, ToolCallID: "call_1", ToolName: "bash", Parts: []perdure.Part{perdure.Text("")}},
		{Type: perdure.PartToolResult, ToolCallID: "call_2", ToolName: "bash", IsError: true},
	} {
		run.Say(perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{result}}})
	}
	var entries page[struct{ Role, Content json.RawMessage }]
	h.Call("GET", h.Path(x.ID, "/entries"), "").Want(200, &entries)
	var got []string
	for _, e := range entries.Items {
		got = append(got, fmt.Sprintf("%s %s", e.Role, e.Content))
	}
	want := []string{
		`"user" {"parts":[{"type":"text","text":"look"},{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","mimeType":"image/png"}]}`,
		`"assistant" {"parts":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig"},{"type":"thinking","thinkingSignature":"sealed","redacted":true,"thinking":""},` +
			`{"type":"text","text":"so","textSignature":"sig"},{"type":"toolCall","id":"call_1","name":"bash","arguments":{"a":1},"rawArguments":"{\"a\": 1}"},` +
			`{"type":"toolCall","id":"call_2","name":"bash","arguments":{},"rawArguments":"{}"}],"provider":"scripted","model":"m",` +
			`"usage":{"input":1,"output":0,"reasoning":null,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":null,"calls":1},"stopReason":"tool_use"}`,
		`"tool_result" {"parts":[{"type":"toolResult","toolCallId":"call_1","toolName":"bash","parts":[{"type":"text","text":""}],"isError":false}]}`,
		`"tool_result" {"parts":[{"type":"toolResult","toolCallId":"call_2","toolName":"bash","parts":[],"isError":true}]}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
