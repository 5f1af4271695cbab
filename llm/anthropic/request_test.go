package anthropic_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

const model = "claude-sonnet-4-5"

// sent returns the body of the HTTP request that a new provider sends for req to a fake server.
func sent(t *testing.T, req llm.Request) map[string]any {
	t.Helper()
	p, server := remote.Serve(t, llmtest.Answer{Text: []string{"ok"}})
	llmtest.Ask(t, p, req)
	got := server.Requests()[0]
	if got.Path != "/v1/messages" {
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
	return perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Provider: "anthropic", Model: modelID, Parts: parts}}
}

func TestRequest(t *testing.T) {
	half := 0.5
	body := sent(t, llm.Request{
		Model: model, System: "Be brief.", MaxTokens: 500, Temperature: &half,
		Tools: []llm.ToolSpec{{Name: "read-file", Description: "reads", Schema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)}},
		Messages: []perdure.Message{
			perdure.UserText("what is in it?"),
			answer(model,
				perdure.Part{Type: perdure.PartThinking, Thinking: "hm", ThinkingSignature: "sig=="},
				perdure.Part{Type: perdure.PartThinking, Redacted: true, ThinkingSignature: "blob"},
				perdure.Part{Type: perdure.PartThinking, Thinking: "unsigned"},
				perdure.Text(""), perdure.Text("Looking."),
				perdure.Part{Type: perdure.PartToolCall, ID: "own-1", ProviderID: "toolu_1", Name: "read-file", RawArguments: `{"p":1}`},
				perdure.Part{Type: perdure.PartToolCall, ID: "own-2", ProviderID: "toolu.2", Name: "read-file", RawArguments: ``}),
			llmtest.Result("own-2", "read-file", perdure.Part{Type: perdure.PartImage, Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", MimeType: "image/png"}),
			llmtest.Result("own-1", "read-file", perdure.Text("content")),
			perdure.UserText("go on"),
			{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{
				perdure.Text("and this:"), {Type: perdure.PartImage, Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", MimeType: "image/png"},
			}}},
		},
	})
	want := fromJSON(t, `{
		"model": "claude-sonnet-4-5", "max_tokens": 500, "temperature": 0.5, "stream": true,
		"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
		"tools": [{"name": "read-file", "description": "reads", "input_schema": {"type": "object", "properties": {"z": {}, "a": {}}}}],
		"messages": [
			{"role": "user", "content": [{"type": "text", "text": "what is in it?"}]},
			{"role": "assistant", "content": [
				{"type": "thinking", "thinking": "hm", "signature": "sig=="},
				{"type": "redacted_thinking", "data": "blob"},
				{"type": "text", "text": "Looking."},
				{"type": "tool_use", "id": "toolu_1", "name": "read-file", "input": {"p": 1}},
				{"type": "tool_use", "id": "own-2", "name": "read-file", "input": {}}]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "content"}]},
				{"type": "tool_result", "tool_use_id": "own-2", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]},
				{"type": "text", "text": "go on"},
				{"type": "text", "text": "and this:"},
				{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}, "cache_control": {"type": "ephemeral"}}]}
		]}`)
	if diff := cmp.Diff(want, any(body)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// TestSignaturesAreSentBackUnchanged checks that signed thinking, redacted thinking and a call are
// sent back unchanged to the model that made them. A request to another model contains only the
// call, and reasoning is off.
func TestSignaturesAreSentBackUnchanged(t *testing.T) {
	first := llmtest.Answer{
		Thinking: "I must  look\n", Signature: "EqQB+/==", Redacted: "b64/+=",
		Calls: []llmtest.Call{{ID: "toolu_1", Name: "list", Arguments: `{"n":1}`}},
		Usage: perdure.Usage{Output: 1},
	}
	p, server := remote.Serve(t, first, llmtest.Answer{Text: []string{"ok"}})
	req := llm.Request{Model: model, Thinking: llm.ThinkingLow, Messages: []perdure.Message{perdure.UserText("hi")}}
	resp, _ := llmtest.Ask(t, p, req)
	stored, err := json.Marshal(resp.Content) // as in an entry
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(stored, &resp.Content); err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, llmtest.Answered(resp, "a.go")...)
	llmtest.Ask(t, p, req)
	turn := server.Requests()[1].Body["messages"].([]any)[1]
	want := fromJSON(t, `{"role": "assistant", "content": [
		{"type": "thinking", "thinking": "I must  look\n", "signature": "EqQB+/=="},
		{"type": "redacted_thinking", "data": "b64/+="},
		{"type": "tool_use", "id": "toolu_1", "name": "list", "input": {"n": 1}}]}`)
	if diff := cmp.Diff(want, turn); diff != "" {
		t.Errorf("the turn goes back changed (-want +got):\n%s", diff)
	}

	req.Model = "claude-opus-4-1"
	other := sent(t, req)
	if content := other["messages"].([]any)[1].(map[string]any)["content"].([]any); len(content) != 1 {
		t.Errorf("another model gets %v", content)
	}
	if other["thinking"] != nil {
		t.Error("a tool round that began without reasoning of this model cannot have it switched on")
	}
}

// TestRequestPrefixIsStable checks that the tools, system prompt and messages of each request
// begin with those of the previous request, apart from cache breakpoints. Each request has two
// cache breakpoints.
func TestRequestPrefixIsStable(t *testing.T) {
	p, server := remote.Serve(t,
		llmtest.Answer{Calls: []llmtest.Call{{ID: "toolu_1", Name: "list", Arguments: `{"b":1,"a":2.0}`}}, Usage: perdure.Usage{Output: 1}},
		llmtest.Answer{Text: []string{"ok"}})
	req := llm.Request{
		Model: model, System: "s", Messages: []perdure.Message{perdure.UserText("hi")},
		Tools: []llm.ToolSpec{{Name: "list", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"number"},"b":{"type":"string"}}}`)}},
	}
	for range 4 {
		resp, _ := llmtest.Ask(t, p, req)
		req.Messages = append(append(req.Messages, llmtest.Answered(resp, "x")...), perdure.UserText("more"))
	}
	mark := []byte(`,"cache_control":{"type":"ephemeral"}`)
	var before []byte
	for i, got := range server.Requests() {
		var body struct {
			System   json.RawMessage
			Tools    json.RawMessage
			Messages []json.RawMessage
		}
		if err := json.Unmarshal(got.Raw, &body); err != nil {
			t.Fatal(err)
		}
		now := append(append([]byte{}, body.Tools...), body.System...)
		for _, m := range body.Messages {
			now = append(now, bytes.ReplaceAll(m, mark, nil)...)
		}
		if !bytes.HasPrefix(now, before) {
			t.Errorf("call %d does not begin as the one before:\n%s\n%s", i+1, before, now)
		}
		if n := bytes.Count(got.Raw, mark); n != 2 {
			t.Errorf("call %d has %d cache breakpoints, want 2", i+1, n)
		}
		before = now
	}
}

func TestLimits(t *testing.T) {
	half := 0.5
	for _, c := range []struct {
		name      string
		model     string
		thinking  llm.Thinking
		maxTokens int
		want      string // expected max_tokens, thinking, output_config and temperature
	}{
		{"default", "claude-sonnet-4-5-20250929", "", 0, `{"max_tokens": 32000, "temperature": 0.5}`},
		{"off", "claude-sonnet-4-5", "off", 0, `{"max_tokens": 32000, "temperature": 0.5}`},
		{"budget", "claude-sonnet-4-5", "low", 0, `{"max_tokens": 32000, "thinking": {"type": "enabled", "budget_tokens": 2048}}`},
		{"budget in a limit", "claude-opus-4-20250514", "high", 6000, `{"max_tokens": 6000, "thinking": {"type": "enabled", "budget_tokens": 3000}}`},
		{"budget over a small limit", "claude-3-7-sonnet-latest", "medium", 500, `{"max_tokens": 1524, "thinking": {"type": "enabled", "budget_tokens": 1024}}`},
		{"no reasoning model", "claude-3-5-haiku-20241022", "high", 0, `{"max_tokens": 8192, "temperature": 0.5}`},
		{"old", "claude-3-opus-20240229", "", 0, `{"max_tokens": 4096, "temperature": 0.5}`},
		{"adaptive", "claude-sonnet-4-6", "high", 100, `{"max_tokens": 100, "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}}`},
		{"adaptive, not asked", "claude-sonnet-4-6", "", 0, `{"max_tokens": 32000, "temperature": 0.5}`},
		{"no sampling", "claude-opus-4-7", "off", 0, `{"max_tokens": 32000}`},
		{"on by default", "claude-opus-5", "off", 0, `{"max_tokens": 32000, "thinking": {"type": "disabled"}}`},
		{"on by default, not asked", "claude-sonnet-5", "", 0, `{"max_tokens": 32000}`},
		{"between tools", "claude-sonnet-5-5", "off", 0, `{"max_tokens": 32000, "thinking": {"type": "between_tools"}}`},
		{"always on", "claude-fable-5-1", "off", 0, `{"max_tokens": 32000}`},
		{"always on, asked", "claude-mythos-preview", "low", 0, `{"max_tokens": 32000, "thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}}`},
		{"compatible server", "glm-4.6", "low", 0, `{"max_tokens": 8192, "thinking": {"type": "enabled", "budget_tokens": 2048}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := sent(t, llm.Request{
				Model: c.model, Thinking: c.thinking, MaxTokens: c.maxTokens, Temperature: &half,
				Messages: []perdure.Message{perdure.UserText("hi")},
			})
			for _, other := range []string{"model", "messages", "stream"} {
				delete(body, other)
			}
			if diff := cmp.Diff(fromJSON(t, c.want), any(body)); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

// TestInvalidConversationsAreNormalized checks the messages that are sent for a conversation with
// blank texts, reasoning of another model, broken arguments and an empty error. The roles of the
// sent messages alternate. The first and the last message are user messages. No message has a blank
// text.
func TestInvalidConversationsAreNormalized(t *testing.T) {
	body := sent(t, llm.Request{Model: model, System: "  ", Messages: []perdure.Message{
		{Role: perdure.RoleSystem, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("Rules.")}}},
		perdure.UserText("hi"),
		answer("claude-opus-4-1", perdure.Part{Type: perdure.PartThinking, Thinking: "x", ThinkingSignature: "foreign"}),
		perdure.UserText("still there?"),
		answer(model, perdure.Part{Type: perdure.PartToolCall, ID: "own-1", Name: "f", RawArguments: `{"broken`}),
		{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{{Type: perdure.PartToolResult, ToolCallID: "own-1", IsError: true}}}},
		answer(model, perdure.Text("Sorry.")),
		perdure.UserText(" \n"),
	}})
	want := fromJSON(t, `[
		{"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "still there?"}]},
		{"role": "assistant", "content": [{"type": "tool_use", "id": "own-1", "name": "f", "input": {"invalid_arguments": "{\"broken"}}]},
		{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "own-1", "is_error": true, "content": [{"type": "text", "text": "error"}]}]},
		{"role": "assistant", "content": [{"type": "text", "text": "Sorry."}]},
		{"role": "user", "content": [{"type": "text", "text": "(empty message)", "cache_control": {"type": "ephemeral"}}]}]`)
	if diff := cmp.Diff(want, body["messages"]); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if system := body["system"].([]any); len(system) != 1 || system[0].(map[string]any)["text"] != "Rules." {
		t.Errorf("system is %v", system)
	}
}
