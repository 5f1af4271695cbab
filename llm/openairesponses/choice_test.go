package openairesponses_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

func TestToolChoiceAndFormatAreSent(t *testing.T) {
	yes, no := true, false
	tool := llm.ToolSpec{Name: "ask", Schema: json.RawMessage(`{"type":"object"}`), Strict: &yes}
	schema := &perdure.OutputFormat{Name: "n", Description: "d", Schema: json.RawMessage(`{"type":"object","b":1,"a":2}`), Strict: &no}
	for name, c := range map[string]struct {
		req  llm.Request
		want string
	}{
		"nothing":  {llm.Request{Tools: []llm.ToolSpec{tool}}, `{}`},
		"required": {llm.Request{Tools: []llm.ToolSpec{tool}, ToolChoice: "required"}, `{"tool_choice":"required"}`},
		"none":     {llm.Request{Tools: []llm.ToolSpec{tool}, ToolChoice: "none"}, `{"tool_choice":"none"}`},
		"one tool": {
			llm.Request{Tools: []llm.ToolSpec{tool}, ToolChoice: "tool", ToolName: "ask", ParallelToolCalls: &no},
			`{"tool_choice":{"type":"function","name":"ask"},"parallel_tool_calls":false}`,
		},
		"no tools": {llm.Request{ParallelToolCalls: &no, ToolChoice: "none"}, `{}`},
		"object":   {llm.Request{Format: &perdure.OutputFormat{}}, `{"text":{"format":{"type":"json_object"}}}`},
		"schema": {
			llm.Request{Format: schema},
			`{"text":{"format":{"type":"json_schema","name":"n","description":"d","strict":false,"schema":{"type":"object","b":1,"a":2}}}}`,
		},
	} {
		c.req.Model, c.req.Messages = "gpt-4.1", []perdure.Message{perdure.UserText("hi")}
		got := sent(t, c.req)
		if tools, ok := got["tools"].([]any); ok && tools[0].(map[string]any)["strict"] != true {
			t.Errorf("%s: strict is not sent: %v", name, tools)
		}
		for _, other := range []string{"input", "model", "store", "stream", "tools"} {
			delete(got, other)
		}
		if diff := cmp.Diff(fromJSON(t, c.want), any(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTheSchemaIsSentAsItIs checks that a schema is sent byte for byte. The order of its keys
// matters, because models write the members of an answer in that order.
func TestTheSchemaIsSentAsItIs(t *testing.T) {
	p, server := remote.Serve(t, llmtest.Answer{Text: []string{"{}"}})
	schema := `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number"}}}`
	llmtest.Ask(t, p, llm.Request{
		Model: model, Messages: []perdure.Message{perdure.UserText("hi")}, Format: &perdure.OutputFormat{Name: "n", Schema: json.RawMessage(schema)},
	})
	if raw := string(server.Requests()[0].Raw); !strings.Contains(raw, schema) {
		t.Errorf("sent %s", raw)
	}
}
