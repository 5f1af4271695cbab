package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/llm/llmtest"
)

const asksForBlocks = `"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high"},` + oneTool

// thoughtful has, for each provider protocol, the answers of a model that thinks before it calls a
// tool.
var thoughtful = map[string]llmtest.Answer{
	claude:                          {Thinking: "Let me see.", Signature: "c2ln", Redacted: "cmVk", Text: []string{"I ask."}},
	"anthropic/claude-opus-4-6":     {Redacted: "cmVk", Text: []string{"I ask."}},
	"openai/deepseek-reasoner":      {Thinking: "Let me see.", Text: []string{"I ask."}},
	directGPT5:                      {Thinking: "Let me see.", Signature: "c2ln", Text: []string{"I ask."}},
	google:                          {Thinking: "Let me see.", Signature: "c2ln", CallSignature: "Y2FsbA==", Text: []string{"I ask."}},
	googleNew:                       {CallSignature: "c2ln", Text: []string{"I ask."}},
	"gemini/gemini-3-flash-preview": {Thinking: "Let me see.", CallSignature: "c2ln"},
}

// Ways in which a client continues a conversation.
const (
	byPrevious   = "by previous_response_id"
	byItems      = "with all items"
	byReferences = "with references to all items"
)

// rounds runs a tool loop of three rounds, and returns the bodies of the requests that the provider
// received. The parameter `how` is the way in which the client continues.
func (w *wired) rounds(model, how string) []string {
	w.t.Helper()
	provider, _, _ := strings.Cut(model, "/")
	input, members := []string{`{"role":"user","content":"go"}`}, asksForBlocks
	if how == byItems {
		members += `,"store":false`
	}
	ids := []string{}
	for range 3 {
		o := w.call("POST", "/v1/responses", `{"model":"`+model+`",`+members+`,"input":[`+strings.Join(input, ",")+`]}`).object()
		items := outputOf(w.t, o)
		results := resultsOf(w.t, items)
		if len(results) != 1 {
			w.t.Fatalf("%s: %s", model, o.raw)
		}
		ids = append(ids, o.calls()[0].CallID)
		if how == byPrevious {
			input, members = results, asksForBlocks+`,"previous_response_id":"`+o.ID+`"`
			continue
		}
		for _, raw := range items {
			one := string(raw)
			if how == byReferences {
				one = `{"type":"item_reference","id":"` + at(value(w.t, raw), "id").(string) + `"}`
			}
			input = append(input, one)
		}
		input = append(input, results...)
	}
	var bodies []string
	for _, r := range w.servers[provider].Requests() {
		body := string(r.Raw)
		for i, id := range ids { // a client sends none of the provider's ids back
			body = strings.ReplaceAll(body, id, fmt.Sprint("call ", i))
		}
		body = strings.NewReplacer(`"c1"`, `"call 0"`, `"c1_2"`, `"call 1"`).Replace(body)
		bodies = append(bodies, body)
	}
	return bodies
}

// TestStatelessLoopsKeepTheProvidersSignatures checks a client that stores the conversation itself,
// and sends signed blocks back. The provider receives the same bytes as when Perdure stores the
// conversation.
func TestStatelessLoopsKeepTheProvidersSignatures(t *testing.T) {
	longtest.Skip(t, "seconds")
	for model, a := range thoughtful {
		t.Run(model, func(t *testing.T) {
			a.Calls = []llmtest.Call{{ID: "c1", Name: "f", Arguments: `{"a": 1}`}}
			a.Usage = perdure.Usage{Input: 3, Output: 2}
			kept := newWired(t, a).rounds(model, byPrevious)
			given := newWired(t, a).rounds(model, byItems)
			for i := range kept {
				if kept[i] != given[i] {
					t.Errorf("request %d of the stateless loop is\n%s\nwant\n%s", i, given[i], kept[i])
				}
			}
			if a.Redacted == "" { // content that no item shows is not referred to
				if referred := newWired(t, a).rounds(model, byReferences); referred[2] != kept[2] {
					t.Errorf("the third request by references is\n%s\nwant\n%s", referred[2], kept[2])
				}
			}
			for _, signed := range []string{a.Signature, a.Redacted, a.CallSignature} {
				if signed != "" && strings.Count(given[2], `"`+signed+`"`) != 2 {
					t.Errorf("%q is in the third request %d times, want each of two answers' own:\n%s", signed, strings.Count(given[2], `"`+signed+`"`), given[2])
				}
			}
		})
	}
}

// TestBlocksAreShownWhereTheyAreAskedFor checks that encrypted reasoning is shown if the parameter
// include requests it, and never otherwise. This holds for whole and streamed responses, when they
// are created and when they are read again.
func TestBlocksAreShownWhereTheyAreAskedFor(t *testing.T) {
	longtest.Skip(t, "seconds")
	a := thoughtful[directGPT5]
	w := newWired(t, a)
	body := `{"model":"` + directGPT5 + `","input":"a","stream":true`
	for members, want := range map[string]bool{`,"include":["reasoning.encrypted_content"]}`: true, `,"include":[]}`: false, `}`: false} {
		events := w.all("POST", "/v1/responses", body+members)
		o := responseOf(t, events[len(events)-1])
		again := w.call("GET", "/v1/responses/"+o.ID, "").object()
		if got := bytes.Contains(o.raw, []byte(`"encrypted_content"`)); got != want || !bytes.Equal(o.raw, bytes.TrimSpace(again.raw)) {
			t.Errorf("%s: shown %v: %s\nread again: %s", members, got, o.raw, again.raw)
		}
		for _, query := range []string{"?include[]=reasoning.encrypted_content", "?include=reasoning.encrypted_content&include=file_search_call.results", "?include[0]=reasoning.encrypted_content"} {
			if shown := w.call("GET", "/v1/responses/"+o.ID+query, "").object(); !bytes.Contains(shown.raw, []byte(`"encrypted_content"`)) {
				t.Errorf("%s: not shown at %s: %s", members, query, shown.raw)
			}
		}
		if shown := w.call("GET", "/v1/responses/"+o.ID, `{"include":["reasoning.encrypted_content"],"stream":false}`).object(); !bytes.Contains(shown.raw, []byte(`"encrypted_content"`)) {
			t.Errorf("%s: not shown where the body asks for it: %s", members, shown.raw)
		}
		replayed := w.all("GET", "/v1/responses/"+o.ID+"?stream=true", "")
		for i, e := range replayed {
			if i > 1 && e.Type == "response.output_item.done" && e.Raw != events[i].Raw {
				t.Errorf("event %d was %s and is %s", i, events[i].Raw, e.Raw)
			}
		}
	}
}

// TestForeignBlocksAreRefused checks that encrypted reasoning that was modified, or that belongs to
// another org, is refused. The error names the item, and no execution is started.
func TestForeignBlocksAreRefused(t *testing.T) {
	w := newWired(t, thoughtful[directGPT5])
	w.work("other")
	o := w.call("POST", "/v1/responses", `{"model":"`+directGPT5+`","input":"a","include":["reasoning.encrypted_content"]}`).object()
	var sealed string
	for _, raw := range outputOf(t, o) {
		var i struct {
			Type      string
			Encrypted string `json:"encrypted_content"`
		}
		if err := json.Unmarshal(raw, &i); err != nil {
			t.Fatal(err)
		}
		if i.Type == "reasoning" {
			sealed = i.Encrypted
		}
	}
	for name, c := range map[string]struct {
		org, content string
		status       int
	}{
		"its own":       {"default", sealed, 200},
		"none":          {"default", "", 200},
		"another org's": {"other", sealed, 400},
		"changed":       {"default", sealed[:len(sealed)-3] + "abc", 400},
		"cut":           {"default", sealed[:40], 400},
		"OpenAI's":      {"default", "gAAAAABpX", 400},
	} {
		before := w.executions()
		r := w.callAs(c.org, "POST", "/v1/responses",
			`{"model":"test/m","input":[{"role":"user","content":"a"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"`+c.content+`"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`)
		if c.status == 200 {
			if r.status != 200 {
				t.Errorf("%s: %s", name, r.body)
			}
			continue
		}
		r.refused(400, "input[1].encrypted_content", "invalid_encrypted_content")
		if w.executions() != before {
			t.Errorf("%s: an execution was begun", name)
		}
	}
}

func value(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}
