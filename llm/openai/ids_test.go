package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// TestIDsOfCompatibleServersGoBackVerbatim checks that the ids of tool calls that a compatible
// server chose are sent back unchanged, unless the server used an id twice. Some models, such as
// Kimi's, read the name of the tool from the id.
func TestIDsOfCompatibleServersGoBackVerbatim(t *testing.T) {
	first := llmtest.Answer{Calls: []llmtest.Call{
		{ID: "functions.list:0", Name: "list", Arguments: `{"a":1}`}, {ID: "functions.list:1", Name: "list", Arguments: `{"a":2}`},
	}, Usage: perdure.Usage{Output: 1}}
	p, server := remote.Serve(t, first, first, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
	req := llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}}
	for i := range 2 {
		resp, _ := llmtest.Ask(t, p, req)
		messages := llmtest.Answered(resp, "x")
		for n := range messages { // Perdure's ids are unique in a run
			for k := range messages[n].Parts {
				part := &messages[n].Parts[k]
				if part.ID != "" {
					part.ID += strings.Repeat("x", i)
				}
				if part.ToolCallID != "" {
					part.ToolCallID += strings.Repeat("x", i)
				}
			}
		}
		req.Messages = append(req.Messages, messages...)
	}
	llmtest.Ask(t, p, req)
	var body struct {
		Messages []struct {
			ToolCalls  []struct{ ID string } `json:"tool_calls"`
			ToolCallID string                `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(server.Requests()[2].Raw, &body); err != nil {
		t.Fatal(err)
	}
	var calls, results []string
	for _, m := range body.Messages {
		for _, c := range m.ToolCalls {
			calls = append(calls, c.ID)
		}
		if m.ToolCallID != "" {
			results = append(results, m.ToolCallID)
		}
	}
	if len(calls) != 4 || strings.Join(calls, " ") != strings.Join(results, " ") {
		t.Fatalf("calls %v, results %v", calls, results)
	}
	if calls[0] != "functions.list:0" || calls[1] != "functions.list:1" {
		t.Errorf("the ids went back as %v", calls)
	}
	if calls[2] == calls[0] || calls[3] == calls[1] { // the server repeated the ids
		t.Errorf("ids stand twice: %v", calls)
	}
}
