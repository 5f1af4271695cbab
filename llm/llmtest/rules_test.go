package llmtest_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/llm/llmtest"
)

// TestTheCheckerRefusesWhatProvidersRefuse checks that Check accepts a valid request of each
// protocol. It must refuse requests that differ from the valid one in one place, and conversations
// that do not end with a user message.
func TestTheCheckerRefusesWhatProvidersRefuse(t *testing.T) {
	for name, w := range map[string]struct {
		wire    llmtest.Wire
		good    string
		changes [][2]string
	}{
		"anthropic": {llmtest.Anthropic, `{"model":"m","max_tokens":9,"tools":[{"name":"a"},{"name":"b"}],"messages":[
			{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"a","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"},{"type":"text","text":"x"}]}]}`, [][2]string{
			{`"name":"b"`, `"name":"a"`},
			{`"name":"b"`, `"name":"a b"`},
			{`"name":"a","input"`, `"name":"","input"`},
			{"image/png", "image/gif"},
			{"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "aGk="},
			{"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"},
			{`"max_tokens":9`, `"max_tokens":0`},
			{`tool_use_id":"c1`, `tool_use_id":"c2`},
			{`"id":"c1"`, `"id":"c:1"`},
			{`"role":"assistant"`, `"role":"user"`},
			{`"text":"x"`, `"text":" "`},
		}},
		"openai": {llmtest.OpenAI, `{"model":"m","tools":[{"function":{"name":"a"}},{"function":{"name":"b"}}],"messages":[
			{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]},
			{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"a","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"y"},{"role":"user","content":"x"}]}`, [][2]string{
			{`"name":"b"`, `"name":"a"`},
			{`"name":"b"`, `"name":"a.b"`},
			{`"name":"a","arg`, `"name":"a b","arg`},
			{"image/png", "image/jpeg"},
			{"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", ""},
			{`"{}"`, `"{"`},
			{`call_id":"c1`, `call_id":"c2`},
			{`{"role":"user","content":"x"}`, `{"role":"assistant","content":"x"}`},
			{`"content":"y"`, `"content":""`},
		}},
		"openai-responses": {llmtest.OpenAIResponses, `{"model":"m","store":false,"tools":[{"name":"a"},{"name":"b"}],"input":[
			{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}]},
			{"type":"function_call","call_id":"c1","name":"a","arguments":"{}"},
			{"type":"function_call_output","call_id":"c1","output":"y"},{"role":"user","content":"x"}]}`, [][2]string{
			{`"name":"b"`, `"name":"a"`},
			{`"name":"a","arg`, `"name":"a.b","arg`},
			{"image/png", "image/webp"},
			{"data:image/png;", "ftp://e/"},
			{`output","call_id":"c1`, `output","call_id":"c2`},
			{`{"role":"user","content":"x"}`, `{"role":"assistant","content":"x"}`},
		}},
		"gemini": {llmtest.Gemini, `{"tools":[{"functionDeclarations":[{"name":"a.b"},{"name":"b"}]}],"contents":[
			{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]},
			{"role":"model","parts":[{"functionCall":{"id":"c1","name":"a.b","args":{}},"thoughtSignature":"aGk="}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"a.b","response":{}}}]}]}`, [][2]string{
			{`"name":"b"`, `"name":"a.b"`},
			{`"name":"b"`, `"name":"7b"`},
			{"image/png", "image/jpeg"},
			{"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "aGk="},
			{`"id":"c1","name":"a.b","response"`, `"id":"c1","name":"b","response"`},
			{`"role":"model"`, `"role":"user"`},
		}},
	} {
		if err := w.wire.Check([]byte(w.good)); err != nil {
			t.Errorf("%s: the good request: %v", name, err)
		}
		for _, change := range w.changes {
			if !strings.Contains(w.good, change[0]) {
				t.Fatalf("%s: there is no %s to change", name, change[0])
			}
			if err := w.wire.Check([]byte(strings.Replace(w.good, change[0], change[1], 1))); err == nil {
				t.Errorf("%s: %s in place of %s is accepted", name, change[1], change[0])
			}
		}
	}
	for name, body := range map[string]string{
		"anthropic": `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","content":[{"type":"text","text":"x"}]}]}`,
		"openai":    `{"model":"m","messages":[{"role":"system","content":"x"}]}`,
		"gemini":    `{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"text":"x"}]}]}`,
	} {
		wire := map[string]llmtest.Wire{"anthropic": llmtest.Anthropic, "openai": llmtest.OpenAI, "gemini": llmtest.Gemini}[name]
		if wire.Check([]byte(body)) == nil {
			t.Errorf("%s: a conversation that the user does not end is accepted", name)
		}
	}
}
