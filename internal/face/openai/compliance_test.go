package openai_test

import (
	"slices"
	"strings"
	"testing"
)

// TestComplianceOverHTTP runs the HTTP cases of the public compliance suite of Open Responses. The
// WebSocket cases are in the tests TestSocket...
func TestComplianceOverHTTP(t *testing.T) {
	const weather = `"tools":[{"type":"function","name":"weather","description":"The weather at a place.",
		"parameters":{"type":"object","properties":{"place":{"type":"string"}},"required":["place"]}}]`
	for name, c := range map[string]struct {
		answer  answer
		members string
		prompt  string // what the model receives
		output  string // types of the output items
	}{
		"basic-response": {says("Hello."), `"input":[{"type":"message","role":"user","content":"Greet me."}]`, "user: Greet me.", "message"},
		"assistant-phase": {
			says("Nine."), `"input":[
			{"type":"message","role":"assistant","phase":"commentary","content":"I look it up."},
			{"type":"message","role":"assistant","phase":"final_answer","content":"It is nine."},
			{"type":"message","role":"user","content":"Only the number."}]`,
			"assistant: I look it up.It is nine.\nuser: Only the number.", "message",
		},
		"streaming-response": {says("One, ", "two."), `"stream":true,"input":[{"type":"message","role":"user","content":"Count."}]`, "user: Count.", "message"},
		"system-prompt": {
			says("Arr."), `"input":[{"type":"message","role":"system","content":"Be a pirate."},{"type":"message","role":"user","content":"Hi."}]`,
			"system: Be a pirate.\nuser: Hi.", "message",
		},
		"tool-calling": {
			calls("", "weather", `{"place":"Bonn"}`), weather + `,"input":[{"type":"message","role":"user","content":"And in Bonn?"}]`,
			"user: And in Bonn?", "function_call",
		},
		"tool-calling-streaming": {
			calls("", "weather", `{"place":"Bonn"}`), weather + `,"stream":true,"input":[{"type":"message","role":"user","content":"And in Bonn?"}]`,
			"user: And in Bonn?", "function_call",
		},
		"image-input": {says("A dot."), `"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"What is it?"},
			{"type":"input_image","image_url":"data:image/png;base64,` + onePixel + `"}]}]`, "user: What is it?[image/png]", "message"},
		"multi-turn": {
			says("Ada."), `"input":[{"type":"message","role":"user","content":"I am Ada."},
			{"type":"message","role":"assistant","content":"Hello Ada."},{"type":"message","role":"user","content":"Who am I?"}]`,
			"user: I am Ada.\nassistant: Hello Ada.\nuser: Who am I?", "message",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c.answer, c.answer, c.answer)
			body := `{"model":"test/m",` + c.members + `}`
			var o object
			if strings.Contains(c.members, `"stream":true`) {
				all := s.all("POST", "/v1/responses", body)
				o = responseOf(t, all[len(all)-1])
				wantStreamedItems(t, o, all)
			} else {
				o = s.call("POST", "/v1/responses", body).object()
			}
			var types []string
			for _, i := range o.Output {
				types = append(types, i.Type)
			}
			if o.Status != "completed" || strings.Join(types, " ") != c.output {
				t.Errorf("got %s", o.raw)
			}
			s.wantPrompt(c.prompt)
		})
	}
}

// wantStreamedItems checks that the stream has the events that begin, fill and end each item of the
// response, in that order.
func wantStreamedItems(t *testing.T, o object, all []event) {
	t.Helper()
	for _, i := range o.Output {
		filled := "response.output_text"
		if i.Type == "function_call" {
			filled = "response.function_call_arguments"
		}
		at := 0
		for _, want := range []string{"response.output_item.added", filled + ".delta", filled + ".done", "response.output_item.done"} {
			n := slices.IndexFunc(all[at:], func(e event) bool { return e.Type == want })
			if n < 0 {
				t.Errorf("the stream of a %s has no %s after event %d", i.Type, want, at)
				break
			}
			at += n
		}
	}
}
