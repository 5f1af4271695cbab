package llmtest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// testBody checks that Body sends nothing, and that it returns the bytes of the body that Stream
// sends, without the key.
func testBody(t *testing.T, r Remote) {
	warm := 0.5
	call := perdure.Part{Type: perdure.PartToolCall, ID: "call_1", Name: "read-file", Arguments: json.RawMessage(`{"path": "ä 😀"}`)}
	result := perdure.Part{Type: perdure.PartToolResult, ToolCallID: "call_1", ToolName: "read-file", Parts: []perdure.Part{perdure.Text("<&>")}}
	for name, req := range map[string]llm.Request{
		"a short one": r.request(),
		"a long one": {
			Model: r.Model, System: "You are <brief> & \"exact\".", MaxTokens: 100, Temperature: &warm, Thinking: llm.ThinkingLow,
			Tools: []llm.ToolSpec{{Name: "read-file", Description: "Reads.", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"path":{"type":"string"}}}`)}},
			Messages: []perdure.Message{
				perdure.UserText("read it"),
				{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("I read."), call}, Provider: "other", Model: "m"}},
				{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{result}}},
			},
		},
	} {
		p, server := r.Serve(t, Answer{Text: []string{"ok"}})
		body, err := p.(llm.Bodied).Body(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := len(server.Requests()); n != 0 {
			t.Errorf("%s: %d requests were sent", name, n)
		}
		Ask(t, p, req)
		if sent := server.Requests()[0].Raw; !bytes.Equal(body, sent) {
			t.Errorf("%s: the body is\n%s\nand was sent as\n%s", name, body, sent)
		}
		if bytes.Contains(body, []byte(Secret)) {
			t.Errorf("%s: the body contains the key", name)
		}
	}
}
