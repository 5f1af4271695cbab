package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

func TestToolChoiceAndFormatAreSent(t *testing.T) {
	no := false
	tools := []llm.ToolSpec{{Name: "ask", Schema: json.RawMessage(`{"type":"object"}`)}}
	for name, c := range map[string]struct {
		req  llm.Request
		want string
	}{
		"nothing":  {llm.Request{Tools: tools}, `{}`},
		"no tools": {llm.Request{ToolChoice: "none", ParallelToolCalls: &no}, `{}`},
		"none":     {llm.Request{Tools: tools, ToolChoice: "none"}, `{"tool_choice":{"type":"none"}}`},
		"required": {llm.Request{Tools: tools, ToolChoice: "required"}, `{"tool_choice":{"type":"any"}}`},
		"one":      {llm.Request{Tools: tools, ParallelToolCalls: &no}, `{"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`},
		"one tool": {
			llm.Request{Tools: tools, ToolChoice: "tool", ToolName: "ask", ParallelToolCalls: &no},
			`{"tool_choice":{"type":"tool","name":"ask","disable_parallel_tool_use":true}}`,
		},
		"schema": {
			llm.Request{Format: &perdure.OutputFormat{Name: "n", Schema: json.RawMessage(`{"type":"object"}`)}},
			`{"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}}`,
		},
	} {
		c.req.Model = "claude-sonnet-4-6"
		text, err := json.Marshal(params(c.req))
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{"messages", "model", "max_tokens", "tools"} {
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
