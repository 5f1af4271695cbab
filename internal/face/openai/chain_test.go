package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/llm"
)

// prompt returns the messages that the model received in its most recent call, one per line.
func (s *stage) prompt() string {
	s.t.Helper()
	all := s.model.asked()
	var lines []string
	for _, m := range all[len(all)-1].Messages {
		line := string(m.Role) + ": " + m.PlainText()
		for _, p := range m.Parts {
			switch p.Type {
			case perdure.PartToolCall:
				line += "(" + p.Name + ")"
			case perdure.PartToolResult:
				line += perdure.Content{Parts: p.Parts}.PlainText()
			case perdure.PartImage:
				line += "[" + p.MimeType + "]"
			case perdure.PartCompaction:
				line = string(m.Role) + ": [summary]" + p.Text
			}
		}
		lines = append(lines, line)
	}
	if all[len(all)-1].Purpose == llm.PurposeCompaction {
		lines[len(lines)-1] = "user: [request]" // the message that asks for a summary
	}
	return strings.Join(lines, "\n")
}

// executions returns the number of executions of the default org.
func (s *stage) executions() int {
	s.t.Helper()
	page, err := s.store.Executions(s.t.Context(), "default", store.ExecutionFilter{Limit: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	return len(page.Items)
}

func (s *stage) wantPrompt(want string) {
	s.t.Helper()
	if got := s.prompt(); got != want {
		s.t.Errorf("the model was given\n%s\nwant\n%s", got, want)
	}
}

func after(id string) string { return `"previous_response_id":"` + id + `",` }

// TestAChainGoesOnInOneExecution checks a chain of create requests, each of which continues from
// the response to the previous request. They run in one execution. The model receives the whole
// conversation.
func TestAChainGoesOnInOneExecution(t *testing.T) {
	s := newStage(t, says("one"), says("two"), says("three"))
	a := s.create(`"input":"a"`).object()
	b := s.create(after(a.ID) + `"input":"b"`).object()
	c := s.create(after(b.ID) + `"input":"c"`).object()
	if s.executions() != 1 || c.text() != "three" || c.Previous != b.ID || a.ID == b.ID || b.ID == c.ID {
		t.Errorf("%d executions; %s, %s, %s", s.executions(), a.raw, b.raw, c.raw)
	}
	s.wantPrompt("user: a\nassistant: one\nuser: b\nassistant: two\nuser: c")
	if a.Usage == nil || a.Usage.In != 12 || a.Usage.Details.Cached != 2 || a.Usage.Out != 5 || a.Usage.Total != 17 || c.Usage.In != 12 {
		t.Errorf("usage: %s, %s", a.raw, c.raw)
	}
}

// TestABranchIsANewExecution checks a create request that continues from a response that is not the
// last one of its conversation. It starts a new execution with a copy of the conversation up to
// that response. The entries of the copy have new ids. Later requests can continue both
// conversations.
func TestABranchIsANewExecution(t *testing.T) {
	s := newStage(t, thinks("hm", says("one")), says("two"), says("three"))
	a := s.create(`"input":"a"`).object()
	b := s.create(after(a.ID) + `"input":"b"`).object()
	c := s.create(after(a.ID) + `"input":"c"`).object()
	s.wantPrompt("user: a\nassistant: one\nuser: c")
	d := s.create(after(c.ID) + `"input":"d"`).object() // continues the new execution
	s.wantPrompt("user: a\nassistant: one\nuser: c\nassistant: two\nuser: d")
	e := s.create(after(b.ID) + `"input":"e"`).object() // continues the old execution
	s.wantPrompt("user: a\nassistant: one\nuser: b\nassistant: two\nuser: e")
	if s.executions() != 2 || d.Status != "completed" || e.Status != "completed" {
		t.Errorf("%d executions", s.executions())
	}
	ids, paths := map[string]bool{}, 0
	for _, id := range []string{b.ID, c.ID} {
		row, err := s.store.Response(t.Context(), "default", id)
		if err != nil {
			t.Fatal(err)
		}
		x, err := s.store.Execution(t.Context(), "default", row.Execution)
		if err != nil {
			t.Fatal(err)
		}
		for entry, err := range s.store.Path(t.Context(), x.ID, *x.Leaf, nil, 0, false) {
			if err != nil {
				t.Fatal(err)
			}
			paths++
			ids[entry.ID.String()] = true
		}
	}
	if len(ids) != paths {
		t.Errorf("%d entries have %d ids", paths, len(ids))
	}
	if got := s.call("GET", "/v1/responses/"+c.ID, "").object(); got.text() != "two" || len(got.Output) != 1 {
		t.Errorf("what was copied counts as output: %s", got.raw)
	}
}

// TestABusyChainIsBranched checks two create requests that continue from the same response. While
// the response to the first one runs, the second one starts a new execution. A request that
// continues from the running response itself is refused.
func TestABusyChainIsBranched(t *testing.T) {
	said, open := make(chan struct{}, 1), make(chan struct{})
	slow := false
	s := newStage(t, says("one"), func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		if slow {
			return says("quick")(ctx, req, b)
		}
		slow = true
		return holds(says("slow"), said, open)(ctx, req, b)
	})
	a := s.create(`"input":"a"`).object()
	b := s.create(after(a.ID) + `"input":"b","background":true`).object()
	<-said
	c := s.create(after(a.ID) + `"input":"c"`).object()
	if c.text() != "quick" || s.executions() != 2 {
		t.Errorf("%d executions, %s", s.executions(), c.raw)
	}
	s.create(after(b.ID)+`"input":"d"`).refused(400, "previous_response_id", "previous_response_in_progress")
	close(open)
	s.untilEnd(b.ID)
	if got := s.call("GET", "/v1/responses/"+b.ID, "").object(); got.text() != "slow" || got.Status != "completed" {
		t.Errorf("the response that ran: %s", got.raw)
	}
}

// untilEnd follows a response to its end.
func (s *stage) untilEnd(id string) object {
	s.t.Helper()
	all := s.all("GET", "/v1/responses/"+id+"?stream=true", "")
	return responseOf(s.t, all[len(all)-1])
}

// TestTwoAtOnceNeverShareAResponse checks that eight concurrent create requests that continue
// from one response become eight responses in eight executions.
func TestTwoAtOnceNeverShareAResponse(t *testing.T) {
	s := newStage(t, says("one"))
	a := s.create(`"input":"a"`).object()
	made := make(chan []byte, 8)
	for i := range cap(made) {
		go func() {
			made <- s.call("POST", "/v1/responses", fmt.Sprintf(`{"model":"test/m","input":"%d",%s"background":true}`, i, after(a.ID))).body
		}()
	}
	ids := map[string]bool{}
	for range cap(made) {
		var o object
		if err := json.Unmarshal(<-made, &o); err != nil {
			t.Fatal(err)
		}
		ids[o.ID] = true
		if got := s.untilEnd(o.ID); got.Status != "completed" || got.ID != o.ID {
			t.Errorf("got %s", got.raw)
		}
	}
	if len(ids) != cap(made) || s.executions() != cap(made) {
		t.Errorf("%d responses in %d executions", len(ids), s.executions())
	}
}

// TestASteeringInputIsAnAlias checks that a user message that arrives while a response runs joins
// that response. The response id that the message got on arrival is then another id of the running
// response.
func TestASteeringInputIsAnAlias(t *testing.T) {
	said, open := make(chan struct{}, 1), make(chan struct{})
	s := newStage(t, holds(calls("I look.", "gone", "{}"), said, open), says("Done."))
	a := s.create(`"input":"a","background":true`).object()
	<-said
	row, err := s.store.Response(t.Context(), "default", a.ID)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := s.engine.Signal(t.Context(), "default", row.Execution, engine.SignalRequest{Name: perdure.UserMessage, Value: json.RawMessage(`{"text":"stop"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if o := s.call("GET", "/v1/responses/"+reply.ResponseID, "").object(); o.ID != reply.ResponseID || o.Status != "in_progress" {
		t.Errorf("before it is taken up: %s", o.raw)
	}
	early, over := s.streamed("GET", "/v1/responses/"+reply.ResponseID+"?stream=true", "")
	close(open)
	end := s.untilEnd(a.ID)
	var followed []event
	for e := range early {
		followed = append(followed, e)
	}
	if err := over(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.all("GET", "/v1/responses/"+a.ID+"?stream=true", ""), followed); diff != "" {
		t.Errorf("a stream that was opened before the message was taken up (-want +got):\n%s", diff)
	}
	if o := s.call("GET", "/v1/responses/"+reply.ResponseID, "").object(); o.ID != a.ID || o.Status != "completed" || o.text() != end.text() {
		t.Errorf("the alias gives %s", o.raw)
	}
	if all := s.all("GET", "/v1/responses/"+reply.ResponseID+"?stream=true", ""); responseOf(t, all[0]).ID != a.ID {
		t.Errorf("the alias streams %s", all[0].Raw)
	}
	b := s.create(after(reply.ResponseID) + `"input":"b"`).object()
	if s.executions() != 1 || b.Status != "completed" {
		t.Errorf("going on from the alias: %s", b.raw)
	}
}

// TestStreamsOfWhatNobodyAnswersEnd checks an agent that produces no output for its input and for
// messages. The streams of the responses still end, and the responses are completed without output.
func TestStreamsOfWhatNobodyAnswersEnd(t *testing.T) {
	s := newStage(t)
	x, err := s.engine.Start(t.Context(), "default", engine.StartRequest{Kind: "deaf", Input: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{x.ResponseID}
	for range 2 {
		reply, err := s.engine.Signal(t.Context(), "default", x.ID, engine.SignalRequest{Name: perdure.UserMessage, Value: json.RawMessage(`{"text":"hi"}`)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, reply.ResponseID)
	}
	for _, id := range ids {
		if end := s.untilEnd(id); end.ID != id || end.Status != "completed" || len(end.Output) != 0 {
			t.Errorf("got %s", end.raw)
		}
	}
}

const result = `{"type":"function_call_output","call_id":"%s","output":"%s"}`

// TestClientToolsAreAnsweredByTheNextCreate checks that calls of tools that the client runs end the
// response. The next create request must have exactly one result for each of these calls, in any
// order.
func TestClientToolsAreAnsweredByTheNextCreate(t *testing.T) {
	s := newStage(t, calls("I ask.", "gone", "{}", "ask", `{"n":1}`, "ask", `{"n":2}`), says("Both are 7."))
	a := s.create(`"input":"a",` + tools).object()
	open := a.calls()
	if len(open) != 2 || open[0].Arguments != `{"n":1}` || a.Status != "completed" {
		t.Fatalf("got %s", a.raw)
	}
	one, two := fmt.Sprintf(result, open[0].CallID, "7"), fmt.Sprintf(result, open[1].CallID, "8")
	s.create(after(a.ID)+`"input":"b"`).refused(400, "input", "invalid_value")
	s.create(after(a.ID)+`"input":[`+one+`]`).refused(400, "input", "invalid_value")
	s.create(after(a.ID)+`"input":[`+one+`,`+two+`,`+two+`]`).refused(400, "input", "invalid_value")
	s.create(after(a.ID)+`"input":[`+one+`,`+two+`,`+fmt.Sprintf(result, "call_x", "9")+`]`).refused(400, "input", "invalid_value")
	s.create(`"input":[`+one+`]`).refused(400, "input", "invalid_value")
	b := s.create(after(a.ID) + `"input":[{"role":"user","content":"and?"},` + two + `,` + one + `],` + tools).object()
	if b.text() != "Both are 7." || s.executions() != 1 || len(b.Output) != 1 {
		t.Errorf("got %s", b.raw)
	}
	s.wantPrompt("user: a\nassistant: I ask.(gone)(ask)(ask)\ntool_result: there is no tool \"gone\"; the tools are: []\ntool_result: 8\ntool_result: 7\nuser: and?")

	// A second request that continues from the same response, with the same results, starts a new
	// execution.
	c := s.create(after(a.ID) + `"input":[` + one + `,` + two + `],` + tools).object()
	if c.text() != "Both are 7." || s.executions() != 2 {
		t.Errorf("got %s", c.raw)
	}
}

// TestOpenCallsAreAnsweredWhenTheUserSpeaks checks a user message that arrives as a signal, not as
// a create request, while calls wait for results from the client. The model answers the message.
// The result of each call is that the user has sent a message instead.
func TestOpenCallsAreAnsweredWhenTheUserSpeaks(t *testing.T) {
	s := newStage(t, calls("I ask.", "ask", `{}`), says("Fine."))
	a := s.create(`"input":"a",` + tools).object()
	row, err := s.store.Response(t.Context(), "default", a.ID)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := s.engine.Signal(t.Context(), "default", row.Execution, engine.SignalRequest{Name: perdure.UserMessage, Value: json.RawMessage(`{"text":"never mind"}`)})
	if err != nil {
		t.Fatal(err)
	}
	if end := s.untilEnd(reply.ResponseID); end.text() != "Fine." || end.ID != reply.ResponseID {
		t.Errorf("got %s", end.raw)
	}
	s.wantPrompt("user: a\nassistant: I ask.(ask)\ntool_result: skipped: the user sent a message\nuser: never mind")
}

// TestSettingsAreThoseOfTheResponse checks that the settings of a create request apply to its own
// response only, and not to the next one.
func TestSettingsAreThoseOfTheResponse(t *testing.T) {
	s := newStage(t)
	_, err := s.engine.Definitions.Create(t.Context(), "default", perdure.Definition{
		Name: "Helper", Slug: "agent", SystemPrompt: "Be kind.", Models: []perdure.ModelConfig{{Provider: "test", ModelID: "m"}}, Tools: []string{"grep"},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := s.call("POST", "/v1/responses", `{"model":"agent","input":"a"}`).object()
	b := s.create(after(a.ID) + `"input":"b","instructions":"Be brief.","temperature":0.5,"max_output_tokens":100,"reasoning":{"effort":"high"},
		"parallel_tool_calls":false,"tool_choice":{"type":"function","name":"ask"},` + tools + `,
		"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true}},"metadata":{"k":"v"}`).object()
	c := s.call("POST", "/v1/responses", `{"model":"agent","input":"c",`+strings.TrimSuffix(after(b.ID), ",")+`}`).object()
	asked := s.model.asked()
	first, second, third := asked[0], asked[1], asked[2]
	if first.System != "Be kind." || len(first.Tools) != 1 || first.Tools[0].Name != "grep" || first.Format != nil || first.ToolChoice != "" {
		t.Errorf("the first was asked as %+v", first)
	}
	if second.System != "Be brief." || len(second.Tools) != 1 || second.Tools[0].Name != "ask" || second.ToolChoice != "tool" || second.ToolName != "ask" ||
		second.MaxTokens != 100 || *second.Temperature != 0.5 || second.Thinking != "high" || *second.ParallelToolCalls || string(second.Format.Schema) != `{"type":"object"}` {
		t.Errorf("the second was asked as %+v", second)
	}
	if third.System != "Be kind." || len(third.Tools) != 1 || third.Tools[0].Name != "grep" || third.Format != nil || third.Temperature != nil {
		t.Errorf("the third was asked as %+v", third)
	}
	if b.Metadata["k"] != "v" || b.Model != "test/m" || c.Model != "agent" || s.executions() != 1 {
		t.Errorf("got %s and %s", b.raw, c.raw)
	}
	if again := s.call("GET", "/v1/responses/"+b.ID, "").object(); !slices.Equal(again.raw, b.raw) {
		t.Errorf("retrieved as %s, created as %s", again.raw, b.raw)
	}
}

// TestInputItemsBecomeMessages checks that items become messages: images, earlier messages, and
// calls with their results.
func TestInputItemsBecomeMessages(t *testing.T) {
	s := newStage(t)
	o := s.create(`"input":[
		{"role":"developer","content":"Be brief."},
		{"role":"user","content":[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","detail":"auto"}]},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}]},
		{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I ask.","annotations":[]}]},
		{"type":"function_call","call_id":"c1","name":"ask","arguments":"{\"a\":1}"},
		{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"a cat"}]}]`).object()
	if o.text() == "" {
		t.Errorf("got %s", o.raw)
	}
	s.wantPrompt("system: Be brief.\nuser: What is it?[image/png]\nassistant: I ask.(ask)\ntool_result: a cat")
	var page struct {
		Data    []item
		HasMore bool   `json:"has_more"`
		First   string `json:"first_id"`
		Last    string `json:"last_id"`
	}
	list := func(query string) (types []string) {
		page.Data = nil
		r := s.call("GET", "/v1/responses/"+o.ID+"/input_items?"+query, "")
		if err := json.Unmarshal(r.body, &page); err != nil || r.status != 200 {
			t.Fatalf("%d: %s", r.status, r.body)
		}
		for _, i := range page.Data {
			types = append(types, i.Type)
		}
		return types
	}
	whole := list("order=asc")
	if strings.Join(whole, " ") != "message message reasoning message function_call function_call_output" || page.HasMore {
		t.Errorf("the input is %v", whole)
	}
	var paged []string
	for query := "limit=4"; ; query = "limit=4&after=" + page.Last {
		paged = append(paged, list(query)...)
		if !page.HasMore {
			break
		}
	}
	slices.Reverse(paged)
	if !slices.Equal(paged, whole) {
		t.Errorf("page by page: %v", paged)
	}
	s.call("GET", "/v1/responses/"+o.ID+"/input_items?limit=0", "").refused(400, "limit", "invalid_value")
	s.call("GET", "/v1/responses/"+o.ID+"/input_items?after=x", "").refused(400, "after", "invalid_value")
	s.call("GET", "/v1/responses/"+o.ID+"/input_items?order=x", "").refused(400, "order", "invalid_value")
}

// TestGivenResultsNameTheirTools checks that the stored result of a client's tool contains the
// tool's name. The cases are a call of the model, a call in a branch, and a call that the client
// sends together with the result.
func TestGivenResultsNameTheirTools(t *testing.T) {
	s := newStage(t, calls("I ask.", "ask", `{}`), says("Fine."), says("Fine."))
	a := s.create(`"input":"a",` + tools).object()
	output := fmt.Sprintf(result, a.calls()[0].CallID, "8")
	b := s.create(after(a.ID) + `"input":[` + output + `],` + tools).object()
	branch := s.create(after(a.ID) + `"input":[` + output + `],` + tools).object()
	given := s.create(`"input":[{"role":"user","content":"hi"},{"type":"function_call","call_id":"c1","name":"ask","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"c1","output":"9"}]`).object()
	for what, id := range map[string]string{"a call of the model": b.ID, "a branch": branch.ID, "a call of the input": given.ID} {
		if names := s.resultNames(id); !slices.Equal(names, []string{"ask"}) {
			t.Errorf("%s: the results are of %q", what, names)
		}
	}
}

// resultNames returns the tool names in the stored results of a response's execution.
func (s *stage) resultNames(response string) (names []string) {
	s.t.Helper()
	row, err := s.store.Response(s.t.Context(), "default", response)
	if err != nil {
		s.t.Fatal(err)
	}
	page, err := s.store.AllEntries(s.t.Context(), row.Execution, "", 100)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range page.Items {
		if e.Role != perdure.RoleToolResult {
			continue
		}
		m, err := e.Message()
		if err != nil {
			s.t.Fatal(err)
		}
		names = append(names, m.Parts[0].ToolName)
	}
	return names
}
