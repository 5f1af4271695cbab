package openai

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

func TestToolChoiceAndFormatAreSent(t *testing.T) {
	no := false
	tool := llm.ToolSpec{Name: "ask", Schema: json.RawMessage(`{"type":"object"}`), Strict: &no}
	schema := &perdure.OutputFormat{Name: "n", Description: "d", Schema: json.RawMessage(`{"type":"object","b":1,"a":2}`), Strict: &no}
	for name, c := range map[string]struct {
		req  llm.Request
		want string
	}{
		"nothing":  {llm.Request{Tools: []llm.ToolSpec{tool}}, `{}`},
		"required": {llm.Request{Tools: []llm.ToolSpec{tool}, ToolChoice: "required"}, `{"tool_choice":"required"}`},
		"one tool": {
			llm.Request{Tools: []llm.ToolSpec{tool}, ToolChoice: "tool", ToolName: "ask", ParallelToolCalls: &no},
			`{"tool_choice":{"type":"function","function":{"name":"ask"}},"parallel_tool_calls":false}`,
		},
		"no tools": {llm.Request{ParallelToolCalls: &no}, `{}`},
		"object":   {llm.Request{Format: &perdure.OutputFormat{}}, `{"response_format":{"type":"json_object"}}`},
		"schema": {
			llm.Request{Format: schema},
			`{"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","strict":false,"schema":{"type":"object","b":1,"a":2}}}}`,
		},
	} {
		text, err := json.Marshal(params(c.req, serverAt("https://api.openai.com/v1")))
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if tools, ok := got["tools"].([]any); ok {
			if f := tools[0].(map[string]any)["function"].(map[string]any); f["strict"] != false {
				t.Errorf("%s: strict is not sent: %v", name, f)
			}
		}
		for _, other := range []string{"messages", "model", "stream", "stream_options", "tools"} {
			delete(got, other)
		}
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
