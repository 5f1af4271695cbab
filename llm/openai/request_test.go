package openai_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

const model = "gpt-4o"

// sent returns the body of the HTTP request that a new provider sends for req to a fake server.
func sent(t *testing.T, req llm.Request) map[string]any {
	t.Helper()
	p, server := remote.Serve(t, llmtest.Answer{Text: []string{"ok"}})
	llmtest.Ask(t, p, req)
	got := server.Requests()[0]
	if got.Path != "/v1/chat/completions" {
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
	return perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Provider: "openai", Model: modelID, Parts: parts}}
}

func TestRequest(t *testing.T) {
	half := 0.5
	body := sent(t, llm.Request{
		Model: model, System: "Be brief.", MaxTokens: 500, Temperature: &half,
		Tools: []llm.ToolSpec{{Name: "read-file", Description: "reads", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []perdure.Message{
			perdure.UserText("what is in it?"),
			answer(model,
				perdure.Part{Type: perdure.PartThinking, Thinking: "hm", ThinkingSignature: "reasoning_content"},
				perdure.Text(""), perdure.Text("Look"), perdure.Text("ing."),
				perdure.Part{Type: perdure.PartToolCall, ID: "own-1", ProviderID: "call_1", Name: "read-file", RawArguments: `{ "p":1}`},
				perdure.Part{Type: perdure.PartToolCall, ID: "own-2", ProviderID: "", Name: "read-file", RawArguments: `{"p"`}),
			llmtest.Result("own-2", "read-file", perdure.Part{Type: perdure.PartImage, Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", MimeType: "image/png"}),
			llmtest.Result("own-1", "read-file"),
			answer(model, perdure.Part{Type: perdure.PartThinking, Thinking: "done", ThinkingSignature: "reasoning_content"}, perdure.Text("Seen.")),
			{Role: perdure.RoleSystem, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("It is late.")}}},
			{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{
				perdure.Text("and this:"), {Type: perdure.PartImage, Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", MimeType: "image/png"},
			}}},
		},
	})
	want := fromJSON(t, `{
		"model": "gpt-4o", "max_tokens": 500, "temperature": 0.5, "stream": true, "stream_options": {"include_usage": true},
		"tools": [{"type": "function", "function": {"name": "read-file", "description": "reads", "parameters": {"type": "object"}}}],
		"messages": [
			{"role": "system", "content": "Be brief."},
			{"role": "user", "content": "what is in it?"},
			{"role": "assistant", "content": "Looking.", "reasoning_content": "hm", "tool_calls": [
				{"type": "function", "id": "call_1", "function": {"name": "read-file", "arguments": "{ \"p\":1}"}},
				{"type": "function", "id": "own-2", "function": {"name": "read-file", "arguments": "{\"invalid_arguments\":\"{\\\"p\\\"\"}"}}]},
			{"role": "tool", "tool_call_id": "call_1", "content": "(no output)"},
			{"role": "tool", "tool_call_id": "own-2", "content": "(image: see the message after the tool results)"},
			{"role": "user", "content": [
				{"type": "text", "text": "The images of the tool results above, in order:"},
				{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]},
			{"role": "assistant", "content": "Seen."},
			{"role": "system", "content": "It is late."},
			{"role": "user", "content": [
				{"type": "text", "text": "and this:"},
				{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]}
		]}`)
	if diff := cmp.Diff(want, any(body)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// TestForeignReasoningIsDropped checks that a request contains no reasoning of another model or
// provider, and no reasoning whose signature is not the name of a reasoning member.
func TestForeignReasoningIsDropped(t *testing.T) {
	call := perdure.Part{Type: perdure.PartToolCall, ID: "own-1", Name: "f", RawArguments: `{}`}
	thought := perdure.Part{Type: perdure.PartThinking, Thinking: "hm", ThinkingSignature: "reasoning"}
	signed := perdure.Part{Type: perdure.PartThinking, Thinking: "hm", ThinkingSignature: "EqQB"}
	other := answer("other", thought, call)
	claude := answer(model, signed, call)
	claude.Provider = "anthropic"
	for name, m := range map[string]perdure.Message{"other model": other, "other provider": claude, "no field": answer(model, signed, call)} {
		body := sent(t, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi"), m, llmtest.Result("own-1", "f")}})
		got := body["messages"].([]any)[1].(map[string]any)
		if len(got) != 2 { // role and tool_calls
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestRequestPrefixIsStable checks that the tools and messages of each request begin with those of
// the previous request, and that a schema is sent unchanged.
func TestRequestPrefixIsStable(t *testing.T) {
	p, server := remote.Serve(t,
		llmtest.Answer{Thinking: "hm", Calls: []llmtest.Call{{ID: "call_1", Name: "list", Arguments: `{"b":1,"a":2.0}`}}, Usage: perdure.Usage{Output: 1}},
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
			Tools    json.RawMessage
			Messages []json.RawMessage
		}
		if err := json.Unmarshal(got.Raw, &body); err != nil {
			t.Fatal(err)
		}
		now := append([]byte{}, body.Tools...)
		for _, m := range body.Messages {
			now = append(now, m...)
		}
		if !bytes.HasPrefix(now, before) {
			t.Errorf("call %d does not begin as the one before:\n%s\n%s", i+1, before, now)
		}
		before = now
	}
	if !bytes.Contains(before, []byte(`"parameters":{"type":"object","properties":{"z":{"type":"number"},"b":{"type":"string"}}}`)) {
		t.Errorf("the schema was not sent as given: %s", before)
	}
}
