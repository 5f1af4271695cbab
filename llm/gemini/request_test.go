package gemini_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

const (
	model = "gemini-3-pro-preview"
	// unsigned is sent as the signature of a call that another model made.
	unsigned = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
)

// sent returns the body of the HTTP request that a new provider sends for req to a fake server.
func sent(t *testing.T, req llm.Request) map[string]any {
	t.Helper()
	p, server := remote.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
	llmtest.Ask(t, p, req)
	got := server.Requests()[0]
	if want := "/v1beta/models/" + req.Model + ":streamGenerateContent"; got.Path != want {
		t.Errorf("path is %s, want %s", got.Path, want)
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

func answer(provider, modelID string, parts ...perdure.Part) perdure.Message {
	return perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Provider: provider, Model: modelID, Parts: parts}}
}

func TestRequest(t *testing.T) {
	half := 0.5
	image := perdure.Part{Type: perdure.PartImage, Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", MimeType: "image/png"}
	body := sent(t, llm.Request{
		Model: model, System: "Be brief.", MaxTokens: 500, Temperature: &half, Thinking: llm.ThinkingLow,
		Tools: []llm.ToolSpec{{Name: "read-file", Description: "reads", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "now"}},
		Messages: []perdure.Message{
			{Role: perdure.RoleSystem, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("And polite.")}}},
			perdure.UserText("what is in it?"),
			answer("gemini", model,
				perdure.Part{Type: perdure.PartThinking, Thinking: "unsigned", ThinkingSignature: ""},
				perdure.Text("Looking."), perdure.Part{Type: perdure.PartText, TextSignature: "U0lH"},
				perdure.Part{Type: perdure.PartToolCall, ID: "own-1", ProviderID: "g1", Name: "read-file", RawArguments: `{"p":1}`, ThinkingSignature: "Q0FMTA=="},
				perdure.Part{Type: perdure.PartToolCall, ID: "own-2", Name: "read-file", RawArguments: `{"p"`}),
			llmtest.Result("own-2", "read-file", perdure.Text("see:"), image),
			llmtest.Result("own-1", "read-file"),
			answer("gemini", model, perdure.Text("Se")), answer("gemini", model, perdure.Text("en.")),
			{Role: perdure.RoleSystem, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("It is late.")}}},
			{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("and this:"), image}}},
			{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{}}},
		},
	})
	want := fromJSON(t, `{
		"systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "And polite."}]},
		"generationConfig": {"maxOutputTokens": 500, "temperature": 0.5, "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "LOW"}},
		"tools": [{"functionDeclarations": [
			{"name": "read-file", "description": "reads", "parametersJsonSchema": {"type": "object"}}, {"name": "now"}]}],
		"contents": [
			{"role": "user", "parts": [{"text": "what is in it?"}]},
			{"role": "model", "parts": [
				{"text": "Looking."}, {"text": "", "thoughtSignature": "U0lH"},
				{"functionCall": {"id": "g1", "name": "read-file", "args": {"p": 1}}, "thoughtSignature": "Q0FMTA=="},
				{"functionCall": {"id": "own-2", "name": "read-file", "args": {"invalid_arguments": "{\"p\""}}}]},
			{"role": "user", "parts": [
				{"functionResponse": {"id": "g1", "name": "read-file", "response": {"output": ""}}},
				{"functionResponse": {"id": "own-2", "name": "read-file", "response": {"output": "see:\n(image: see the message after the tool results)"}}}]},
			{"role": "user", "parts": [
				{"text": "The images of the tool results above, in order:"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]},
			{"role": "model", "parts": [{"text": "Se"}, {"text": "en."}]},
			{"role": "user", "parts": [{"text": "It is late."}]},
			{"role": "user", "parts": [{"text": "and this:"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}]},
			{"role": "user", "parts": [{"text": "(empty message)"}]}
		]}`)
	if diff := cmp.Diff(want, any(body)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestThinkingByFamily(t *testing.T) {
	for _, c := range []struct {
		model string
		level llm.Thinking
		want  string
	}{
		{"gemini-3-pro-preview", llm.ThinkingOff, `{"thinkingLevel":"LOW"}`},
		{"gemini-3-pro-preview", llm.ThinkingMedium, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3.1-pro-preview", llm.ThinkingMedium, `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`},
		{"gemini-3-flash-preview", llm.ThinkingOff, `{"thinkingLevel":"MINIMAL"}`},
		{"gemini-3-flash-preview", llm.ThinkingHigh, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-2.5-flash", llm.ThinkingOff, `{"thinkingBudget":0}`},
		{"gemini-2.5-pro", llm.ThinkingOff, `{"thinkingBudget":128}`},
		{"gemini-2.5-pro", llm.ThinkingLow, `{"includeThoughts":true,"thinkingBudget":2048}`},
		{"gemini-flash-latest", llm.ThinkingHigh, `{"includeThoughts":true,"thinkingBudget":20480}`},
		{"gemini-2.0-flash", llm.ThinkingHigh, `null`},
		{"gemini-2.5-pro", "", `null`},
	} {
		body := sent(t, llm.Request{Model: c.model, Thinking: c.level, Messages: []perdure.Message{perdure.UserText("hi")}})
		limits, _ := body["generationConfig"].(map[string]any)
		if diff := cmp.Diff(fromJSON(t, c.want), limits["thinkingConfig"]); diff != "" {
			t.Errorf("%s, %q (-want +got):\n%s", c.model, c.level, diff)
		}
	}
}

// TestSignaturesAreSentBackOnTheirParts checks that thought signatures are sent back to the model
// that made them, each on the part on which it was received. A request to another model contains
// none of the signatures.
func TestSignaturesAreSentBackOnTheirParts(t *testing.T) {
	p, server := remote.Serve(t, llmtest.Answer{Raw: []string{
		`{"responseId":"r","candidates":[{"content":{"role":"model","parts":[{"text":"Hm.","thought":true,"thoughtSignature":"VEhJTks="}]}}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"One "}]}}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"two","thoughtSignature":"VEVYVA=="}]}}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{"z":1,"a":9007199254740993}},"thoughtSignature":"Q0FMTA=="},{"functionCall":{"name":"f","args":{}}}]}}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"","thoughtSignature":"RU1QVFk="}]},"finishReason":"STOP"}]}`,
	}})
	resp, _ := llmtest.Ask(t, p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
	ask := func(provider, modelID string) string {
		resp.Provider, resp.Model = provider, modelID
		after := llmtest.Answered(resp, "x")
		for i := range after { // two calls without the provider's ids
			for j := range after[i].Parts {
				p := &after[i].Parts[j]
				if p.Type == perdure.PartToolCall {
					p.ID = map[string]string{"": "own-2", `{"z":1,"a":9007199254740993}`: "own-1"}[p.RawArguments]
					if p.ID == "" {
						p.ID = "own-2"
					}
				}
			}
		}
		after[1].Parts[0].ToolCallID, after[2].Parts[0].ToolCallID = "own-1", "own-2"
		llmtest.Ask(t, p, llm.Request{Model: model, Messages: append([]perdure.Message{perdure.UserText("hi")}, after...)})
		all := server.Requests()
		var body struct{ Contents []json.RawMessage }
		if err := json.Unmarshal(all[len(all)-1].Raw, &body); err != nil {
			t.Fatal(err)
		}
		return string(body.Contents[1])
	}
	own := `{"role":"model","parts":[{"text":"Hm.","thought":true,"thoughtSignature":"VEhJTks="},{"text":"One "},{"text":"two","thoughtSignature":"VEVYVA=="},` +
		`{"functionCall":{"id":"own-1","name":"f","args":{"z":1,"a":9007199254740993}},"thoughtSignature":"Q0FMTA=="},` +
		`{"functionCall":{"id":"own-2","name":"f","args":{}}},{"text":"","thoughtSignature":"RU1QVFk="}]}`
	if got := ask("gemini", model); got != own {
		t.Errorf("to its maker went %s", got)
	}
	foreign := `{"role":"model","parts":[{"text":"One "},{"text":"two"},` +
		`{"functionCall":{"id":"own-1","name":"f","args":{"z":1,"a":9007199254740993}},"thoughtSignature":"` + unsigned + `"},` +
		`{"functionCall":{"id":"own-2","name":"f","args":{}}}]}`
	for _, other := range []llm.Model{{Provider: "gemini", ID: "gemini-2.5-pro"}, {Provider: "openai", ID: model}} {
		if got := ask(other.Provider, other.ID); got != foreign {
			t.Errorf("of %s went %s", other, got)
		}
	}
}

// TestRequestPrefixIsStable checks that the tools and messages of each request begin with those of
// the previous request, and that schemas and arguments are sent unchanged.
func TestRequestPrefixIsStable(t *testing.T) {
	p, server := remote.Serve(t,
		llmtest.Answer{
			Thinking: "hm", Signature: "c2ln", Calls: []llmtest.Call{{ID: "call_1", Name: "list", Arguments: `{"b":1,"a":2.0}`}},
			Usage: perdure.Usage{Output: 1},
		},
		llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
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
			Contents []json.RawMessage
		}
		if err := json.Unmarshal(got.Raw, &body); err != nil {
			t.Fatal(err)
		}
		now := append([]byte{}, body.Tools...)
		for _, m := range body.Contents {
			now = append(now, m...)
		}
		if !bytes.HasPrefix(now, before) {
			t.Errorf("call %d does not begin as the one before:\n%s\n%s", i+1, before, now)
		}
		before = now
	}
	for _, want := range []string{`"properties":{"z":{"type":"number"},"b":{"type":"string"}}`, `"args":{"b":1,"a":2.0}`} {
		if !bytes.Contains(before, []byte(want)) {
			t.Errorf("%s was not sent as given: %s", want, before)
		}
	}
}
