package gemini_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

func TestToolChoiceAndFormatAreSent(t *testing.T) {
	yes := true
	tools := []llm.ToolSpec{{Name: "ask", Schema: json.RawMessage(`{"type":"object"}`)}}
	strict := []llm.ToolSpec{{Name: "now"}, {Name: "ask", Schema: json.RawMessage(`{"type":"object"}`), Strict: &yes}}
	for name, c := range map[string]struct {
		req  llm.Request
		want string
	}{
		"nothing":         {llm.Request{Tools: tools}, `{}`},
		"auto":            {llm.Request{Tools: tools, ToolChoice: "auto"}, `{}`},
		"none":            {llm.Request{Tools: strict, ToolChoice: "none"}, `{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`},
		"required":        {llm.Request{Tools: tools, ToolChoice: "required"}, `{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`},
		"strict":          {llm.Request{Tools: strict}, `{"toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"}}}`},
		"no tools":        {llm.Request{ToolChoice: "required"}, `{}`},
		"object":          {llm.Request{Format: &perdure.OutputFormat{}}, `{"generationConfig":{"responseMimeType":"application/json"}}`},
		"object and more": {llm.Request{Format: &perdure.OutputFormat{}, MaxTokens: 5}, `{"generationConfig":{"maxOutputTokens":5,"responseMimeType":"application/json"}}`},
		"one tool": {
			llm.Request{Tools: tools, ToolChoice: "tool", ToolName: "ask"},
			`{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["ask"]}}}`,
		},
		"schema": {
			llm.Request{Format: &perdure.OutputFormat{Name: "n", Schema: json.RawMessage(`{"type":"object"}`)}},
			`{"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}}`,
		},
	} {
		c.req.Model, c.req.Messages = model, []perdure.Message{perdure.UserText("hi")}
		got := sent(t, c.req)
		delete(got, "contents")
		delete(got, "tools")
		if c, ok := got["generationConfig"].(map[string]any); ok && len(c) == 0 {
			delete(got, "generationConfig") // empty
		}
		if diff := cmp.Diff(fromJSON(t, c.want), any(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestTheSchemaIsSentAsItIs checks that a schema is sent byte for byte. The order of its keys
// matters, because models write the members of an answer in that order.
func TestTheSchemaIsSentAsItIs(t *testing.T) {
	p, server := remote.Serve(t, llmtest.Answer{Text: []string{"{}"}, Usage: perdure.Usage{Output: 1}})
	schema := `{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number"}}}`
	llmtest.Ask(t, p, llm.Request{
		Model: model, Messages: []perdure.Message{perdure.UserText("hi")}, Format: &perdure.OutputFormat{Name: "n", Schema: json.RawMessage(schema)},
	})
	if raw := string(server.Requests()[0].Raw); !strings.Contains(raw, schema) {
		t.Errorf("sent %s", raw)
	}
}

// TestAFormatBesideToolsIsRefused checks that a request with a text format and tools fails before
// anything is sent, and that CheckRequest refuses a request with ParallelToolCalls.
func TestAFormatBesideToolsIsRefused(t *testing.T) {
	p, server := remote.Serve(t, llmtest.Answer{Text: []string{"{}"}, Usage: perdure.Usage{Output: 1}})
	_, err := p.Stream(t.Context(), llm.Request{
		Model: model, Messages: []perdure.Message{perdure.UserText("hi")}, Tools: []llm.ToolSpec{{Name: "now"}}, Format: &perdure.OutputFormat{},
	}, func(llm.Delta) error { return nil })
	var failed *llm.Error
	if !errors.As(err, &failed) || failed.Kind != llm.InvalidRequest || failed.Retryable || !strings.Contains(failed.Message, "tools") || len(server.Requests()) > 0 {
		t.Errorf("got %v after %d requests", err, len(server.Requests()))
	}
	no := false
	if err := llm.CheckRequest(p, llm.Request{ParallelToolCalls: &no}); err == nil {
		t.Error("one call at a time is taken, and would be ignored")
	}
}
