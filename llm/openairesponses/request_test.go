package openairesponses_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

const model = "gpt-5"

// sent returns the body of the HTTP request that a new provider sends for req to a fake server.
func sent(t *testing.T, req llm.Request) map[string]any {
	t.Helper()
	p, server := remote.Serve(t, llmtest.Answer{Text: []string{"ok"}})
	llmtest.Ask(t, p, req)
	got := server.Requests()[0]
	if got.Path != "/v1/responses" {
		t.Errorf("path is %s", got.Path)
	}
	return got.Body
}

func fromJSON(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func answer(modelID string, parts ...perdure.Part) perdure.Message {
	return perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Provider: "openai-responses", Model: modelID, Parts: parts}}
}

// thought returns a reasoning part as the provider's answers create it.
func thought(id, text, sealed string) perdure.Part {
	return perdure.Part{
		Type: perdure.PartThinking, Thinking: text, ThinkingSignature: sealed,
		Native: json.RawMessage(`{"type":"reasoning","id":"` + id + `","summary":[{"text":"` + text + `","type":"summary_text"}]}`),
	}
}

func TestRequest(t *testing.T) {
	half := 0.5
	image := perdure.Part{Type: perdure.PartImage, Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", MimeType: "image/png"}
	body := sent(t, llm.Request{
		Model: model, System: "Be brief.", MaxTokens: 500, Temperature: &half, Thinking: llm.ThinkingLow,
		Tools: []llm.ToolSpec{{Name: "read-file", Description: "reads", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "now"}},
		Messages: []perdure.Message{
			perdure.UserText("what is in it?"),
			answer(model,
				thought("rs_1", "hm", "SEALED"),
				perdure.Part{Type: perdure.PartText, Text: "Looking.", TextSignature: "commentary"}, perdure.Text(" "),
				perdure.Part{Type: perdure.PartToolCall, ID: "own-1", ProviderID: "call_1", Name: "read-file", RawArguments: `{ "p":1}`},
				perdure.Part{Type: perdure.PartToolCall, ID: "own-2", ProviderID: "no such:id", Name: "read-file", RawArguments: `{"p"`}),
			llmtest.Result("own-2", "read-file", perdure.Text("see:"), image),
			llmtest.Result("own-1", "read-file"),
			answer(model, perdure.Text("Seen."), thought("rs_2", "cut off here", "SEALED2")),
			{Role: perdure.RoleSystem, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("It is late.")}}},
			{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("and this:"), image}}},
			{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{}}},
		},
	})
	want := fromJSON(t, `{
		"model": "gpt-5", "max_output_tokens": 500, "stream": true, "store": false, "instructions": "Be brief.",
		"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low", "summary": "auto"},
		"tools": [
			{"type": "function", "name": "read-file", "description": "reads", "parameters": {"type": "object"}, "strict": false},
			{"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}, "strict": false}],
		"input": [
			{"role": "user", "content": "what is in it?"},
			{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "SEALED"},
			{"role": "assistant", "content": "Looking.", "phase": "commentary"},
			{"type": "function_call", "call_id": "call_1", "name": "read-file", "arguments": "{ \"p\":1}"},
			{"type": "function_call", "call_id": "own-2", "name": "read-file", "arguments": "{\"invalid_arguments\":\"{\\\"p\\\"\"}"},
			{"type": "function_call_output", "call_id": "call_1", "output": "(no output)"},
			{"type": "function_call_output", "call_id": "own-2", "output": [
				{"type": "input_text", "text": "see:"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}]},
			{"role": "assistant", "content": "Seen."},
			{"role": "system", "content": "It is late."},
			{"role": "user", "content": [
				{"type": "input_text", "text": "and this:"},
				{"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}]},
			{"role": "user", "content": "(empty message)"}
		]}`)
	if diff := cmp.Diff(want, any(body)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// TestModelsThatDoNotReason checks that gpt-4o, which does not reason, receives the temperature,
// but no reasoning level and no request for encrypted reasoning. gpt-5.1 with thinking off receives
// the reasoning effort "none".
func TestModelsThatDoNotReason(t *testing.T) {
	half := 0.5
	body := sent(t, llm.Request{Model: "gpt-4o", Temperature: &half, Thinking: llm.ThinkingHigh, Messages: []perdure.Message{perdure.UserText("hi")}})
	if body["temperature"] != 0.5 || body["include"] != nil || body["reasoning"] != nil {
		t.Errorf("request is %v", body)
	}
	body = sent(t, llm.Request{Model: "gpt-5.1", Thinking: llm.ThinkingOff, Messages: []perdure.Message{perdure.UserText("hi")}})
	if diff := cmp.Diff(map[string]any{"effort": "none"}, body["reasoning"]); diff != "" {
		t.Errorf("reasoning (-want +got):\n%s", diff)
	}
}

// TestReasoningIsSentBackToItsModelOnly checks that a reasoning item is sent back to the model
// that made it, unchanged except for its status. A request to a model does not contain the
// reasoning of another model or provider.
func TestReasoningIsSentBackToItsModelOnly(t *testing.T) {
	item := `{"id":"rs_9","type":"reasoning","encrypted_content":"gAAA+/=","summary":[{"type":"summary_text","text":"One <b>"},` +
		`{"type":"summary_text","text":"two"}],"status":"completed"}`
	p, server := remote.Serve(t, llmtest.Answer{Raw: []string{
		`{"type":"response.created","response":{"id":"resp_9"}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_9","type":"reasoning","summary":[]}}`,
		`{"type":"response.reasoning_summary_part.added","output_index":0,"item_id":"rs_9","summary_index":0}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_9","summary_index":0,"delta":"One <b>"}`,
		`{"type":"response.reasoning_summary_part.added","output_index":0,"item_id":"rs_9","summary_index":1}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_9","summary_index":1,"delta":"two"}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`,
		`{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_9","type":"function_call","call_id":"call_9","name":"f","arguments":""}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"id":"fc_9","type":"function_call","call_id":"call_9","name":"f","arguments":"{}"}}`,
		`{"type":"response.completed","response":{"id":"resp_9","usage":{"input_tokens":1,"output_tokens":2}}}`,
	}})
	resp, _ := llmtest.Ask(t, p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
	if got := resp.Parts[0].Thinking; got != "One <b>\n\ntwo" {
		t.Errorf("the reasoning reads %q", got)
	}
	stored, err := json.Marshal(resp.Content)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(stored, []byte("gAAA+/=")) != 1 {
		t.Errorf("the sealed reasoning must be stored once: %s", stored)
	}
	if err := json.Unmarshal(stored, &resp.Content); err != nil {
		t.Fatal(err)
	}
	ask := func(provider, modelID string) []any {
		resp.Provider, resp.Model = provider, modelID
		messages := append([]perdure.Message{perdure.UserText("hi")}, llmtest.Answered(resp, "x")...)
		llmtest.Ask(t, p, llm.Request{Model: model, Messages: messages})
		all := server.Requests()
		return all[len(all)-1].Body["input"].([]any)
	}
	want := fromJSON(t, item).(map[string]any)
	delete(want, "status")
	if diff := cmp.Diff(any(want), ask("openai-responses", model)[1]); diff != "" {
		t.Errorf("what went back (-want +got):\n%s", diff)
	}
	for _, other := range []llm.Model{{Provider: "openai-responses", ID: "o3"}, {Provider: "anthropic", ID: model}} {
		if got := ask(other.Provider, other.ID); len(got) != 3 {
			t.Errorf("of %s went: %v", other, got)
		}
	}
}

// TestRequestPrefixIsStable checks that the tools and messages of each request begin with those of
// the previous request, while the conversation grows.
func TestRequestPrefixIsStable(t *testing.T) {
	p, server := remote.Serve(t,
		llmtest.Answer{
			Thinking: "hm", Signature: "S1", Calls: []llmtest.Call{{ID: "call_1", Name: "list", Arguments: `{"b":1,"a":2.0}`}},
			Usage: perdure.Usage{Output: 1},
		},
		llmtest.Answer{Text: []string{"ok"}})
	req := llm.Request{
		Model: model, System: "s", Messages: []perdure.Message{perdure.UserText("hi")},
		Tools: []llm.ToolSpec{{Name: "list", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"number"},"b":{"type":"string"}}}`)}},
	}
	for range 4 {
		resp, _ := llmtest.Ask(t, p, req)
		req.Messages = append(append(req.Messages, llmtest.Answered(resp, "x")...), perdure.UserText("more"))
	}
	var before []byte
	for i, got := range server.Requests() {
		var body struct {
			Tools json.RawMessage
			Input []json.RawMessage
		}
		if err := json.Unmarshal(got.Raw, &body); err != nil {
			t.Fatal(err)
		}
		now := append([]byte{}, body.Tools...)
		for _, m := range body.Input {
			now = append(now, m...)
		}
		if !bytes.HasPrefix(now, before) {
			t.Errorf("call %d does not begin as the one before:\n%s\n%s", i+1, before, now)
		}
		before = now
	}
	if !bytes.Contains(before, []byte(`"properties":{"z":{"type":"number"},"b":{"type":"string"}}`)) {
		t.Errorf("the schema was not sent as given: %s", before)
	}
}

// TestRepeatedReasoningIDIsSentOnce checks that of two reasoning items with the same id, the second
// is sent without its id. Some servers use one id for all items, but refuse a request that repeats
// an id.
func TestRepeatedReasoningIDIsSentOnce(t *testing.T) {
	body := sent(t, llm.Request{Model: model, Messages: []perdure.Message{
		perdure.UserText("hi"),
		answer(model, thought("rs_1", "one", "S1"), perdure.Text("a"), thought("rs_1", "two", "S2"), perdure.Text("b")),
		perdure.UserText("more"),
	}})
	input := body["input"].([]any)
	first, second := input[1].(map[string]any), input[3].(map[string]any)
	if first["id"] != "rs_1" || second["id"] != nil || second["encrypted_content"] != "S2" {
		t.Errorf("input is %v", input)
	}
}
