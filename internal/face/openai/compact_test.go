package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// compaction is the body of the response to a compaction request.
type compaction struct {
	ID, Object string
	CreatedAt  int64 `json:"created_at"`
	Output     []json.RawMessage
	Usage      struct {
		In  int `json:"input_tokens"`
		Out int `json:"output_tokens"`
	}
	raw []byte
}

const compactPath = "/v1/responses/compact"

// compacted decodes the response to a compaction request, and checks its members against OpenAI's
// published schema.
func (r reply) compacted() compaction {
	r.t.Helper()
	if r.status != http.StatusOK {
		r.t.Fatalf("status %d: %s", r.status, r.body)
	}
	s, err := published()
	if err != nil {
		r.t.Fatal(err)
	}
	check(r.t, s.compaction, r.body)
	c := compaction{raw: r.body}
	if err := json.Unmarshal(r.body, &c); err != nil {
		r.t.Fatal(err)
	}
	return c
}

// summary returns the last item of the output, which is the compaction.
func (c compaction) summary(t *testing.T) (whole, encrypted string) {
	t.Helper()
	last := c.Output[len(c.Output)-1]
	var i struct {
		Type, ID  string
		Encrypted string `json:"encrypted_content"`
	}
	if err := json.Unmarshal(last, &i); err != nil || i.Type != "compaction" || !strings.HasPrefix(i.ID, "cmp_") || i.Encrypted == "" {
		t.Fatalf("the last item is %s, %v", last, err)
	}
	return string(last), i.Encrypted
}

// asInput returns the output as JSON for the input of a create request.
func (c compaction) asInput() string {
	var items []string
	for _, raw := range c.Output {
		items = append(items, string(raw))
	}
	return strings.Join(items, ",")
}

// summarises returns an answer of the model: the summary if the request asks for a summary, and
// otherwise the answer `then`.
func summarises(summary string, then answer) answer {
	return func(ctx context.Context, req llm.Request, b *llm.Builder) (perdure.StopReason, error) {
		if req.Purpose == llm.PurposeCompaction {
			return says(summary)(ctx, req, b)
		}
		return then(ctx, req, b)
	}
}

const greeted = `{"role":"system","content":"Be kind."},{"role":"user","content":"I am Ada."},{"role":"assistant","content":"Hello Ada."}`

func (s *stage) summaries() (n int) {
	for _, r := range s.model.asked() {
		if r.Purpose == llm.PurposeCompaction {
			n++
		}
	}
	return n
}

// TestACompactedConversationGoesOn checks the output of a compaction: the messages of the user and
// the system, and an item with a summary of all other messages. These items are the input of a
// create request. The model gets the summary, and the list of the response's input items contains
// these items.
func TestACompactedConversationGoesOn(t *testing.T) {
	s := newStage(t, summarises("Ada greeted me.", says("Ada.")), summarises("Ada greeted me.", says("Ada.")))
	c := s.call("POST", compactPath, `{"model":"test/m","prompt_cache_key":"k","input":[`+greeted+`]}`).compacted()
	if c.Object != "response.compaction" || len(c.Output) != 3 || c.Usage.In != 12 || c.Usage.Out != 5 {
		t.Fatalf("got %s", c.raw)
	}
	_, encrypted := c.summary(t)
	if strings.Contains(encrypted, "Ada") {
		t.Errorf("the summary can be read: %s", encrypted)
	}
	o := s.create(`"input":[` + c.asInput() + `,{"role":"user","content":"Who am I?"}]`).object()
	s.wantPrompt("system: Be kind.\nuser: I am Ada.\nuser: [summary]Ada greeted me.\nuser: Who am I?")
	if o.text() != "Ada." {
		t.Errorf("got %s", o.raw)
	}
	var list struct{ Data []json.RawMessage }
	if err := json.Unmarshal(s.call("GET", "/v1/responses/"+o.ID+"/input_items?order=asc", "").body, &list); err != nil || len(list.Data) != 4 {
		t.Fatalf("%d items, %v", len(list.Data), err)
	}
	shown := compaction{Output: list.Data[2:3]}
	if whole, again := shown.summary(t); again != encrypted {
		t.Errorf("the item is shown as %s", whole)
	}
	// A create request continues from the response whose input had the summary.
	s.create(after(o.ID) + `"input":"And now?"`).object()
	s.wantPrompt("system: Be kind.\nuser: I am Ada.\nuser: [summary]Ada greeted me.\nuser: Who am I?\nassistant: Ada.\nuser: And now?")
	// A create request can refer to the compaction by its id.
	var named struct{ ID string }
	if err := json.Unmarshal(list.Data[2], &named); err != nil {
		t.Fatal(err)
	}
	s.create(`"input":[{"type":"item_reference","id":"` + named.ID + `"},{"role":"user","content":"Well?"}]`).object()
	s.wantPrompt("user: [summary]Ada greeted me.\nuser: Well?")
}

// TestACompactionStandsForWhatPrecedesIt checks that a compaction in the input replaces all earlier
// items for the model. Only messages of the user and the system directly before the compaction are
// kept.
func TestACompactionStandsForWhatPrecedesIt(t *testing.T) {
	s := newStage(t, summarises("So far.", says("one")), summarises("So far.", says("two")), summarises("So far.", says("three")))
	c := s.call("POST", compactPath, `{"model":"test/m","input":"a"}`).compacted()
	item, _ := c.summary(t)
	s.create(`"input":[{"role":"user","content":"old"},{"role":"assistant","content":"older"},{"role":"user","content":"kept"},` + item + `,{"role":"user","content":"new"}]`).object()
	s.wantPrompt("user: kept\nuser: [summary]So far.\nuser: new")
	first := s.create(`"input":"first"`).object()
	next := s.create(after(first.ID) + `"input":[` + item + `,{"role":"user","content":"next"}]`).object()
	s.wantPrompt("user: [summary]So far.\nuser: next")
	if next.Previous != first.ID {
		t.Errorf("got %s", next.raw)
	}
	// If the input has several compactions, only the newest one applies.
	s.create(`"input":[` + item + `,` + item + `,{"role":"user","content":"new"}]`).object()
	s.wantPrompt("user: [summary]So far.\nuser: new")
}

// TestACompactionOfAResponse checks that a conversation that Perdure stores can be compacted by the
// id of its last response, with or without further input items. The response is unchanged, so
// create requests can still continue from it.
func TestACompactionOfAResponse(t *testing.T) {
	s := newStage(t, summarises("It began with a.", says("one")), summarises("It began with a.", says("two")))
	o := s.create(`"input":"a"`).object()
	for members, want := range map[string]string{``: "user: a", `,"input":"b","instructions":"Be brief."`: "user: a\nuser: b"} {
		c := s.call("POST", compactPath, `{"model":"test/m","previous_response_id":"`+o.ID+`"`+members+`}`).compacted()
		s.call("GET", "/v1/responses/"+c.ID, "").refused(404, "", "not_found")
		s.create(after(c.ID)+`"input":"b"`).refused(400, "previous_response_id", "previous_response_not_found")
		s.create(`"input":[` + c.asInput() + `,{"role":"user","content":"c"}]`).object()
		s.wantPrompt(want + "\nuser: [summary]It began with a.\nuser: c")
	}
	if s.summaries() != 2 {
		t.Errorf("%d summaries", s.summaries())
	}
	s.create(after(o.ID) + `"input":"d"`).object()
	s.wantPrompt("user: a\nassistant: one\nuser: d")
}

// TestACompactedConversationIsCompactedAgain checks that a compacted conversation can be compacted
// again. If it has no new messages, the summary stays as it is, and no model is called.
func TestACompactedConversationIsCompactedAgain(t *testing.T) {
	s := newStage(t, summarises("First.", says("one")), summarises("Second.", says("two")))
	c := s.call("POST", compactPath, `{"model":"test/m","input":"a"}`).compacted()
	same := s.call("POST", compactPath, `{"model":"test/m","input":[`+c.asInput()+`]}`).compacted()
	if s.summaries() != 1 || same.Usage.In != 0 {
		t.Errorf("%d summaries; got %s", s.summaries(), same.raw)
	}
	_, one := c.summary(t)
	if _, two := same.summary(t); one != two {
		t.Errorf("it became another summary: %s", same.raw)
	}
	again := s.call("POST", compactPath, `{"model":"test/m","input":[`+c.asInput()+`,{"role":"assistant","content":"b"}]}`).compacted()
	s.wantPrompt("user: a\nuser: [summary]First.\nassistant: b\nuser: [request]")
	if len(again.Output) != 2 || s.summaries() != 2 {
		t.Errorf("%d summaries; got %s", s.summaries(), again.raw)
	}
}

// TestACompactionIsRepeatedByItsKey checks that a compaction request that is repeated with the same
// idempotency key gets the same result, without another model call. A create request with the same
// key and body is a different request.
func TestACompactionIsRepeatedByItsKey(t *testing.T) {
	s := newStage(t, summarises("S.", says("one")))
	body := `{"model":"test/m","input":"a"}`
	first, second := s.keyedAt(compactPath, "k", body).compacted(), s.keyedAt(compactPath, "k", body).compacted()
	if diff := cmp.Diff(string(first.raw), string(second.raw)); diff != "" || s.summaries() != 1 || s.executions() != 1 {
		t.Errorf("%d summaries, %d executions: %s", s.summaries(), s.executions(), diff)
	}
	s.keyedAt(compactPath, "k", `{"model":"test/m","input":"b"}`).refused(400, "", "idempotency_key_reused")
	s.keyed("k", body).refused(400, "", "idempotency_key_reused")
}

// TestACompactionThatFails checks the error for a compaction that fails. After this error, the
// official clients do not repeat the request.
func TestACompactionThatFails(t *testing.T) {
	s := newStage(t, fails(says(""), false))
	resp := s.request("POST", compactPath, `{"model":"test/m","input":"a"}`, "default")
	defer resp.Body.Close()
	if resp.StatusCode != 500 || resp.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("%d, %v", resp.StatusCode, resp.Header)
	}
	s2 := newStage(t, says(" "))
	if why := s2.call("POST", compactPath, `{"model":"test/m","input":"a"}`).refused(500, "", "server_error"); !strings.Contains(why, "empty") {
		t.Errorf("got %q", why)
	}
}

// TestCompactRefuses checks that invalid compaction requests are refused and start no execution.
func TestCompactRefuses(t *testing.T) {
	s := newStage(t, summarises("S.", says("one")))
	item, encrypted := s.call("POST", compactPath, `{"model":"test/m","input":"a"}`).compacted().summary(t)
	n := s.executions()
	for body, want := range map[string][2]string{
		`{"input":[{"role":"user","content":"a"}]}`:                                                       {"model", "missing_required_parameter"},
		`{"model":"test/m"}`:                                                                              {"input", "missing_required_parameter"},
		`{"model":"test/m","input":[]}`:                                                                   {"input", "missing_required_parameter"},
		`{"model":"none/m","input":"a"}`:                                                                  {"model", "model_not_found"},
		`{"model":"test/m","input":"a","stream":true}`:                                                    {"stream", "unknown_parameter"},
		`{"model":"test/m","input":"a","conversation":"conv_1"}`:                                          {"conversation", "unknown_parameter"},
		`{"model":"test/m","input":"a","more":1}`:                                                         {"more", "unknown_parameter"},
		`{"model":"test/m","input":"a","service_tier":"fast"}`:                                            {"service_tier", "unsupported_parameter"},
		`{"model":"test/m","input":"a","prompt_cache_options":{}}`:                                        {"prompt_cache_options", "unknown_parameter"},
		`{"model":"test/m","input":"a","previous_response_id":"no"}`:                                      {"previous_response_id", "previous_response_not_found"},
		`{"model":"test/m","input":[{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}]}`: {"input", "invalid_value"},
		`{"model":"test/m","input":[` + item + `]}`:                                                       {"input", "invalid_value"},
	} {
		if message := s.call("POST", compactPath, body).refused(400, want[0], want[1]); t.Failed() {
			t.Fatalf("%s: %s", body, message)
		}
	}
	create := func(item string) string {
		return `{"model":"test/m","input":[` + item + `,{"role":"user","content":"b"}]}`
	}
	sealed := func(text string) string { return create(`{"type":"compaction","encrypted_content":"` + text + `"}`) }
	const at = "input[0].encrypted_content"
	for name, body := range map[string]string{
		"changed": sealed(encrypted[:len(encrypted)-4] + "AAAA"), "cut": sealed(encrypted[:len(encrypted)-1]), "another's": sealed("gAAAAABpM0Yj-"),
	} {
		for _, path := range []string{"/v1/responses", compactPath} {
			if message := s.call("POST", path, body).refused(400, at, "invalid_encrypted_content"); t.Failed() {
				t.Fatalf("%s: %s", name, message)
			}
		}
	}
	s.work("other")
	s.callAs("other", "POST", "/v1/responses", sealed(encrypted)).refused(400, at, "invalid_encrypted_content")
	s.call("POST", "/v1/responses", create(`{"type":"compaction"}`)).refused(400, at, "missing_required_parameter")
	s.call("POST", "/v1/responses", create(`{"type":"reasoning","summary":[],"encrypted_content":"`+encrypted+`"}`)).refused(400, at, "invalid_encrypted_content")
	s.call("POST", "/v1/responses", `{"model":"test/m","input":[`+item+`]}`).refused(400, "input", "invalid_value")
	if s.executions() != n {
		t.Errorf("%d executions were begun", s.executions()-n)
	}
}

// TestCompactDoesNotFindAnotherOrg checks that a client cannot compact a response of another org,
// or an input that refers to an item of another org. The error is the same as for an id that does
// not exist.
func TestCompactDoesNotFindAnotherOrg(t *testing.T) {
	s := newStage(t, says("one"))
	o := s.create(`"input":"a"`).object()
	s.work("other")
	for _, id := range []string{o.ID, "resp_unknown"} {
		for _, more := range []string{"", `,"input":"more"`} {
			s.callAs("other", "POST", compactPath, `{"model":"test/m","previous_response_id":"`+id+`"`+more+`}`).refused(400, "previous_response_id", "previous_response_not_found")
		}
	}
	refer := func(id string) string {
		r := s.callAs("other", "POST", compactPath, `{"model":"test/m","input":[{"type":"item_reference","id":"`+id+`"}]}`)
		return fmt.Sprint(r.status, strings.ReplaceAll(string(r.body), id, "ID"))
	}
	if theirs, none := refer(o.Output[0].ID), refer("msg_unknown"); theirs != none || !strings.HasPrefix(theirs, "4") {
		t.Errorf("an item of another org gives %s, an unknown one %s", theirs, none)
	}
}

// TestACompactionInAConversation checks that a compaction can be an item of a conversation: added
// to it, or in a create request, over HTTP or a WebSocket. The list of the conversation's items
// contains the compaction unchanged.
func TestACompactionInAConversation(t *testing.T) {
	s := newStage(t, summarises("S.", says("one")), summarises("S.", says("two")), summarises("S.", says("three")))
	c := s.call("POST", compactPath, `{"model":"test/m","input":[`+greeted+`]}`).compacted()
	item, encrypted := c.summary(t)
	k := s.dial()
	k.create(`"input":[` + item + `,{"role":"user","content":"now"}],"store":false`)
	s.wantPrompt("user: [summary]S.\nuser: now")

	id := s.conversationOf(`{"items":[{"role":"user","content":"old"},` + item + `]}`)
	s.create(in(id) + `"input":"now"`).object()
	s.wantPrompt("user: old\nuser: [summary]S.\nuser: now")
	s.create(in(id)+`"input":[`+item+`]`).refused(400, "input", "invalid_value")
	s.call("POST", "/v1/conversations/"+id+"/items", `{"items":[`+item+`]}`).list()
	list := s.call("GET", "/v1/conversations/"+id+"/items?order=asc", "").body
	var all struct {
		Data []struct {
			Type, ID  string
			Encrypted string `json:"encrypted_content"`
		}
	}
	if err := json.Unmarshal(list, &all); err != nil || len(all.Data) != 5 {
		t.Fatalf("%v: %s", err, list)
	}
	for _, i := range []int{1, 4} {
		at := all.Data[i]
		one := s.call("GET", "/v1/conversations/"+id+"/items/"+at.ID, "").body
		if at.Type != "compaction" || at.Encrypted != encrypted || !strings.Contains(string(one), encrypted) {
			t.Errorf("item %d is %+v, by its id %s", i, at, one)
		}
	}
	s.create(in(id) + `"input":"again"`).object()
	s.wantPrompt("user: [summary]S.\nuser: again")
	s.call("POST", "/v1/conversations", `{"items":[{"type":"compaction","encrypted_content":"no"}]}`).refused(400, "items[0].encrypted_content", "invalid_encrypted_content")
}

// TestAWholeHistoryWithACompactionIsRecognised checks a client that sends the whole conversation
// with each request. Its requests continue the same run, also after a compaction.
func TestAWholeHistoryWithACompactionIsRecognised(t *testing.T) {
	s := newStage(t, summarises("S.", says("one")), summarises("S.", says("two")))
	item, _ := s.call("POST", compactPath, `{"model":"test/m","input":"a"}`).compacted().summary(t)
	history := item + `,{"role":"user","content":"b"}`
	s.create(`"input":[` + history + `]`).object()
	s.create(`"input":[` + history + `,{"role":"assistant","content":"one"},{"role":"user","content":"c"}]`).object()
	s.wantPrompt("user: [summary]S.\nuser: b\nassistant: one\nuser: c")
	if n := s.executions(); n != 2 {
		t.Errorf("%d executions", n)
	}
}

// TestComplianceOfCompaction runs the compaction cases of the public compliance suite.
func TestComplianceOfCompaction(t *testing.T) {
	s := newStage(t, summarises("S.", says("one")), summarises("S.", says("one")))
	c := s.call("POST", compactPath, `{"model":"test/m","prompt_cache_key":"k","input":[
		{"type":"message","role":"user","content":"We meet on Monday."},{"type":"message","role":"assistant","content":"On Monday."}]}`).compacted()
	if c.Object != "response.compaction" || len(c.Output) == 0 {
		t.Errorf("got %s", c.raw)
	}
	c.summary(t)
	s.call("POST", compactPath, `{"input":[{"type":"message","role":"user","content":"Compact."}]}`).refused(400, "model", "missing_required_parameter")
}
