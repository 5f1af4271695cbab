package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestBadCreatesNameTheParameter checks that the error of an invalid create request names the
// parameter, in the shape of OpenAI's API.
func TestBadCreatesNameTheParameter(t *testing.T) {
	s := newStage(t)
	if _, err := s.engine.Definitions.Create(t.Context(), "default", perdure.Definition{
		Name: "A", Slug: "agent", Models: []perdure.ModelConfig{{Provider: "test", ModelID: "m"}}, Tools: []string{"grep"},
	}); err != nil {
		t.Fatal(err)
	}
	nested := strings.Repeat(`{"not":`, 900) + `{}` + strings.Repeat(`}`, 900)
	const digits = `{"minimum":1e999999}`
	for body, want := range map[string][2]string{ // parameter and code of the error
		`{`: {"", "invalid_json"},
		"{\"model\":\"test/m\",\"input\":\"\xff\"}":                  {"input", "invalid_value"},
		`{"model":"test/m","Input":"a","input":"b"}`:                 {"Input", "unknown_parameter"},
		with(`"tools":[{"Type":"function","name":"f"}]`):             {"tools[0].Type", "unknown_parameter"},
		`{"model":"test/m","input":[{"role":"user","Content":"a"}]}`: {"input[0].Content", "unknown_parameter"},
		`{"model":"test/m","input":[{"role":"user","content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"input_text","text":"a"},`, perdure.MaxParts+1), ",") + `]}]}`: {"input[0].content", "array_above_max_length"},
		`{"model":"test/m","input":[` + strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"a"},`, perdure.MaxMessages+1), ",") + `]}`:                             {"input", "array_above_max_length"},
		`{"model":"test/m","input":"a","input":"b"}`: {"input", "duplicate_parameter"},
		with(`"metadata":{"a":"1","a":"2"}`):         {"metadata.a", "duplicate_parameter"},
		`[]`:                                         {"", "invalid_json"},
		`{"input":"a"}`:                              {"model", "missing_required_parameter"},
		`{"model":"test/m"}`:                         {"input", "missing_required_parameter"},
		`{"model":7,"input":"a"}`:                    {"model", "invalid_type"},
		`{"model":"none","input":""}`:                {"model", "model_not_found"},
		`{"model":"elsewhere/m","input":"a"}`:        {"model", "model_not_found"},
		`{"model":"test/","input":"a"}`:              {"model", "model_not_found"},
		`{"model":"00000000-0000-0000-0000-000000000000","input":"a"}`:                                          {"model", "model_not_found"},
		with(`"conversation":"conv_1","previous_response_id":"resp_1"`):                                         {"conversation", "mutually_exclusive_parameters"},
		with(`"previous_response_id":"resp_1"`):                                                                 {"previous_response_id", "previous_response_not_found"},
		with(`"stream_options":{"include_obfuscation":true}`):                                                   {"stream_options", "unsupported_parameter"},
		with(`"colour":"red"`):                                                                                  {"colour", "unknown_parameter"},
		with(`"temperature":3`):                                                                                 {"temperature", "invalid_value"},
		with(`"max_output_tokens":0`):                                                                           {"max_output_tokens", "integer_below_min_value"},
		with(`"background":true,"store":false`):                                                                 {"background", "unsupported_value"},
		with(`"reasoning":{"effort":"huge"}`):                                                                   {"reasoning.effort", "unsupported_value"},
		with(`"text":{"format":{"type":"xml"}}`):                                                                {"text.format.type", "unsupported_value"},
		with(`"text":{"format":{"type":"json_schema","name":"n"}}`):                                             {"text.format.schema", "missing_required_parameter"},
		with(`"text":{"format":{"type":"json_schema","name":"n","schema":` + nested + `}}`):                     {"text.format.schema", "invalid_value"},
		with(`"tools":[{"type":"function","name":"a","parameters":` + nested + `}]`):                            {"tools[0].parameters", "invalid_value"},
		with(`"tools":[{"type":"function","name":"a","parameters":` + digits + `}]`):                            {"tools[0].parameters", "invalid_value"},
		with(`"metadata":{"a":1}`):                                                                              {"metadata", "invalid_type"},
		with(`"tools":[{"type":"web_search"}]`):                                                                 {"tools[0].type", "unsupported_value"},
		with(`"tools":[{"type":"function","name":"a b"}]`):                                                      {"tools[0].name", "invalid_value"},
		with(`"tool_choice":"sometimes"`):                                                                       {"tool_choice", "unsupported_value"},
		with(`"tool_choice":{"type":"function","name":"gone"}`):                                                 {"tool_choice", "invalid_value"},
		`{"model":"agent","input":"a","tools":[{"type":"function","name":"grep"}]}`:                             {"tools", "invalid_value"},
		input(`{"role":"robot","content":"a"}`):                                                                 {"input[0].role", "invalid_value"},
		input(`{"type":"item_reference","id":"msg_1"}`):                                                         {"input[0].id", "item_not_found"},
		input(`{"role":"user","content":[{"type":"input_audio"}]}`):                                             {"input[0].content[0].type", "unsupported_value"},
		input(`{"role":"user","content":[{"type":"input_image","image_url":"ftp://example.com/a.png"}]}`):       {"input[0].content[0].image_url", "invalid_image_url"},
		input(`{"role":"user","content":[{"type":"input_image","image_url":"https://u:p@example.com/a.png"}]}`): {"input[0].content[0].image_url", "invalid_image_url"},
		input(`{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/` + strings.Repeat("a", 8<<10) + `"}]}`):                                                                 {"input[0].content[0].image_url", "invalid_image_url"},
		input(`{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png","detail":"blurred"}]}`):                                                                           {"input[0].content[0].detail", "unsupported_value"},
		input(`{"role":"user","content":[{"type":"input_image","file_id":"f"}]}`):                                                                                                                        {"input[0].content[0].file_id", "unsupported_parameter"},
		input(`{"role":"user","content":[{"type":"input_file","filename":"a.pdf"}]}`):                                                                                                                    {"input[0].content[0].file_data", "missing_required_parameter"},
		input(`{"role":"user","content":[{"type":"input_file","file_id":"f","file_url":"https://example.com/a.pdf"}]}`):                                                                                  {"input[0].content[0]", "mutually_exclusive_parameters"},
		input(`{"role":"user","content":[{"type":"input_file","file_url":"file:///etc/passwd"}]}`):                                                                                                       {"input[0].content[0].file_url", "invalid_file_url"},
		input(`{"role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,aGk=","filename":"a.pdf"}]}`):                                                                     {"input[0].content[0].file_data", "invalid_file"},
		input(`{"role":"user","content":[{"type":"input_file","file_data":"no base64","filename":"a.pdf"}]}`):                                                                                            {"input[0].content[0].file_data", "invalid_file"},
		input(`{"role":"user","content":[{"type":"input_file","file_id":"f","filename":"` + strings.Repeat("a", 256) + `"}]}`):                                                                           {"input[0].content[0].filename", "invalid_value"},
		input(`{"role":"assistant","content":[{"type":"input_file","file_id":"f"}]}`):                                                                                                                    {"input[0].content", "unsupported_value"},
		input(`{"type":"function_call_output","call_id":"c","output":[{"type":"input_file","file_data":"data:application/pdf;base64,aGk="}]}`):                                                           {"input[0].output[0].file_data", "invalid_file"},
		input(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,not so"}]}`):                                                                                           {"input[0].content[0].image_url", "invalid_base64"},
		input(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}`):                                                                                             {"input[0].content[0].image_url", "invalid_image"},
		input(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,"}]}`):                                                                                                 {"input[0].content[0].image_url", "invalid_image"},
		input(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/gif;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}]}`): {"input[0].content[0].image_url", "invalid_image"},
		input(`{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}`):                                                                {"input[0].output[0].image_url", "invalid_image"},
		with(`"tools":[{"type":"function","name":"a"},{"type":"function","name":"a"}]`):                                                                                                                  {"tools[1].name", "invalid_value"},
		with(`"tools":[{"type":"function","name":"unnamed_tool"}]`):                                                                                                                                      {"tools[0].name", "invalid_value"},
		input(`{"type":"function_call_output","output":"a"}`):                                                                                                                                            {"input[0].call_id", "missing_required_parameter"},
		input(`{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}`):                                                                                                                      {"input", "invalid_value"},
	} {
		r := s.call("POST", "/v1/responses", body)
		if message := r.refused(400, want[0], want[1]); t.Failed() {
			t.Fatalf("%s: %s", body, message)
		}
	}
	if s.executions() != 0 {
		t.Errorf("%d executions were begun", s.executions())
	}
	// Parameters without effect are accepted.
	o := s.create(`"input":"a","top_p":1,"truncation":"disabled","include":[],"user":null,"service_tier":"auto","stream_options":null,"text":{"format":{"type":"text"}}`).object()
	if o.Status != "completed" {
		t.Errorf("got %s", o.raw)
	}
}

func with(members string) string { return `{"model":"test/m","input":"a",` + members + `}` }

func input(items string) string { return `{"model":"test/m","input":[` + items + `]}` }

// TestUnknownResponsesAre404 checks that requests about a response get 404, also for a stream, if
// the response does not exist, was created with "store": false, belongs to another org or was
// deleted.
func TestUnknownResponsesAre404(t *testing.T) {
	s := newStage(t)
	o := s.create(`"input":"a"`).object()
	unstored := s.create(`"input":"a","store":false`).object()
	if d := s.call("DELETE", "/v1/responses/"+o.ID, ""); d.status != 200 || !strings.Contains(string(d.body), `"deleted":true`) {
		t.Errorf("deleted: %s", d.body)
	}
	kept := s.create(`"input":"a"`).object()
	for _, id := range []string{"resp_unknown", "x", o.ID, unstored.ID} {
		for _, path := range []string{"", "?stream=true", "?stream=true&starting_after=1", "/input_items"} {
			s.call("GET", "/v1/responses/"+id+path, "").refused(404, "", "not_found")
		}
		s.call("POST", "/v1/responses/"+id+"/cancel", "").refused(404, "", "not_found")
		s.call("DELETE", "/v1/responses/"+id, "").refused(404, "", "not_found")
		s.create(after(id)+`"input":"b"`).refused(400, "previous_response_id", "previous_response_not_found")
	}
	for _, path := range []string{"", "?stream=true", "/input_items"} {
		s.callAs("other", "GET", "/v1/responses/"+kept.ID+path, "").refused(404, "", "not_found")
	}
	s.callAs("other", "POST", "/v1/responses/"+kept.ID+"/cancel", "").refused(404, "", "not_found")
	s.callAs("other", "DELETE", "/v1/responses/"+kept.ID, "").refused(404, "", "not_found")
	s.call("GET", "/v1/responses/"+kept.ID+"?starting_after=1", "").refused(400, "starting_after", "invalid_value")
	s.call("GET", "/v1/responses/"+kept.ID+"?stream=true&starting_after=x", "").refused(400, "starting_after", "invalid_type")
	s.call("GET", "/v1/responses/"+kept.ID+"?include=x", "").refused(400, "include", "unsupported_value")
	s.call("GET", "/v1/responses/"+kept.ID+"?colour=x", "").refused(400, "colour", "unsupported_parameter")
	s.call("GET", "/v1/responses/"+kept.ID, "x").refused(400, "", "invalid_json")
	if r := s.call("GET", "/v1/responses/"+kept.ID, `{"stream":true}`); !strings.HasPrefix(string(r.body), "event: response.created") {
		t.Errorf("asked for a stream in the body, as the Go client does: %s", r.body)
	}
	s.call("POST", "/v1/responses/other", "{}").refused(404, "", "not_found")
}

// TestCancelAndDelete checks that a running response cannot be deleted, and that a create request
// can continue from a cancelled response.
func TestCancelAndDelete(t *testing.T) {
	said := make(chan struct{}, 1)
	s := newStage(t, says("one"), holds(says("two"), said, nil))
	a := s.create(`"input":"a"`).object()
	b := s.create(after(a.ID) + `"input":"b","background":true`).object()
	if b.Status != "queued" && b.Status != "in_progress" {
		t.Errorf("created %s", b.raw)
	}
	<-said
	s.call("DELETE", "/v1/responses/"+b.ID, "").refused(400, "", "response_in_progress")
	if done := s.call("POST", "/v1/responses/"+a.ID+"/cancel", "").object(); done.Status != "completed" {
		t.Errorf("one that has ended: %s", done.raw)
	}
	if got := s.call("POST", "/v1/responses/"+b.ID+"/cancel", "").object(); got.Status != "cancelled" {
		t.Errorf("got %s", got.raw)
	}
	s.model.answers = s.model.answers[:1]
	c := s.create(after(b.ID) + `"input":"c"`).object()
	s.wantPrompt("user: a\nassistant: one\nuser: b\nuser: c")
	if c.Status != "completed" || s.executions() != 2 {
		t.Errorf("got %s", c.raw)
	}
}

// TestARepeatedCreateIsOne checks that a create request that is repeated with its key gets the
// response of the first request.
func TestARepeatedCreateIsOne(t *testing.T) {
	s := newStage(t)
	send := func(key, body string) object {
		t.Helper()
		return s.keyed(key, body).object()
	}
	first, again := send("k", with(`"metadata":{}`)), send("k", with(`"metadata":{}`))
	if first.ID != again.ID || s.executions() != 1 {
		t.Errorf("%s and %s", first.raw, again.raw)
	}
	next := with(strings.TrimSuffix(after(first.ID), ","))
	if a, b := send("n", next), send("n", next); a.ID != b.ID || a.ID == first.ID || s.executions() != 1 {
		t.Errorf("going on: %s and %s", a.raw, b.raw)
	}
	s.keyed("n", with(after(first.ID)+`"temperature":1`)).refused(400, "", "idempotency_key_reused")
	s.keyed("k", with(after(first.ID)+`"temperature":1`)).refused(400, "", "idempotency_key_reused")
	s.keyed("n", with(`"temperature":1`)).refused(400, "", "idempotency_key_reused")
	if a := send("k", with(`"metadata":{}`)); a.ID != first.ID {
		t.Errorf("after the chain went on: %s in place of %s", a.raw, first.ID)
	}
	s.keyed("k", with(`"temperature":1`)).refused(400, "", "idempotency_key_reused")
	if n := s.executions(); n != 1 {
		t.Errorf("%d executions", n)
	}
}

// TestModels checks that the list of models has the org's definitions and the models that they
// name; any model of a known provider can be retrieved by its name.
func TestModels(t *testing.T) {
	s := newStage(t)
	d, err := s.engine.Definitions.Create(t.Context(), "default", perdure.Definition{
		Name: "A", Slug: "agent", Models: []perdure.ModelConfig{{Provider: "test", ModelID: "vendor/m"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Object string
		Data   []struct {
			ID, Object string
			OwnedBy    string `json:"owned_by"`
		}
	}
	if err := json.Unmarshal(s.call("GET", "/v1/models", "").body, &list); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(list); got != "{list [{agent model default} {test/vendor/m model test}]}" {
		t.Errorf("the models are %s", got)
	}
	for _, id := range []string{"agent", d.ID.String(), "test/vendor/m", "test%2Fother"} {
		if r := s.call("GET", "/v1/models/"+id, ""); r.status != 200 {
			t.Errorf("%s: %d %s", id, r.status, r.body)
		}
	}
	s.call("GET", "/v1/models/none", "").refused(404, "model", "model_not_found")
	s.call("GET", "/v1/models/none/m", "").refused(404, "model", "model_not_found")
	if got := s.call("POST", "/v1/responses", `{"model":"`+d.ID.String()+`","input":"a"}`).object(); got.text() != "ok" {
		t.Errorf("got %s", got.raw)
	}
	s.callAs("other", "GET", "/v1/models/agent", "").refused(404, "model", "model_not_found")
}

// TestAnAnswerOfTooManyItemsNamesTheInput checks an error of the engine that is about a part of a
// message. The error names the parameter input.
func TestAnAnswerOfTooManyItemsNamesTheInput(t *testing.T) {
	s := newStage(t)
	answer := `{"role":"assistant","content":"a"},`
	s.create(`"input":[`+strings.Repeat(answer, 1001)+asked+`]`).refused(400, "input", "invalid_argument")
}
