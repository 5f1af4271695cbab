package openairesponses_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

const (
	created   = `{"type":"response.created","response":{"id":"resp_1"}}`
	completed = `{"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":1,"output_tokens":2}}}`
)

func said(t *testing.T, lines ...string) (*llm.Response, error) {
	t.Helper()
	p, _ := remote.Serve(t, llmtest.Answer{Raw: lines})
	resp, _, err := llmtest.TryAsk(t.Context(), p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
	return resp, err
}

// TestFailuresInTheStream checks that the code of a failure in the stream determines the kind of
// the error and whether it is retryable.
func TestFailuresInTheStream(t *testing.T) {
	for line, want := range map[string]struct {
		kind      llm.ErrorKind
		retryable bool
	}{
		`{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error","message":"x"}}}`:        {llm.Unknown, true},
		`{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"rate_limit_exceeded","message":"x"}}}`: {llm.RateLimited, true},
		`{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"invalid_prompt","message":"x"}}}`:      {llm.InvalidRequest, false},
		`{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"invalid_image","message":"x"}}}`:       {llm.InvalidRequest, false},
		`{"type":"response.failed","response":{"id":"r","status":"failed"}}`:                                                      {llm.Unknown, true},
		`{"type":"error","code":"server_error","message":"x","param":null,"sequence_number":3}`:                                   {llm.Unknown, true},
		`{"type":"error","code":"context_length_exceeded","message":"x","param":"input"}`:                                         {llm.ContextLength, false},
		`{"type":"error","code":"insufficient_quota","message":"x"}`:                                                              {llm.RateLimited, false},
	} {
		_, err := said(t, created, line)
		_ = llmtest.WantError(t, err, want.kind, want.retryable)
	}
}

func TestRefusal(t *testing.T) {
	resp, err := said(t, created,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}`,
		`{"type":"response.refusal.delta","output_index":0,"item_id":"msg_1","content_index":0,"delta":"I will "}`,
		`{"type":"response.refusal.delta","output_index":0,"item_id":"msg_1","content_index":0,"delta":"not."}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","content":[{"type":"refusal","refusal":"I will not."}]}}`,
		completed)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StopReason != perdure.StopRefusal || resp.PlainText() != "I will not." {
		t.Errorf("got %+v", resp)
	}
}

// TestItemsThatComeWhole checks that the response is complete if a stream has only complete items,
// without deltas. Some servers send such streams.
func TestItemsThatComeWhole(t *testing.T) {
	resp, err := said(t, created,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"S"}}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","phase":"commentary","content":[{"type":"output_text","text":"Look."}]}}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"f","arguments":"{\"a\":1}"}}`,
		completed)
	if err != nil {
		t.Fatal(err)
	}
	want := []perdure.Part{
		{Type: perdure.PartThinking, Thinking: "hm", ThinkingSignature: "S", Native: resp.Parts[0].Native},
		{Type: perdure.PartText, Text: "Look.", TextSignature: "commentary"},
		{Type: perdure.PartToolCall, ProviderID: "call_1", Name: "f", RawArguments: `{"a":1}`, Arguments: []byte(`{"a":1}`)},
	}
	if diff := cmp.Diff(want, resp.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// TestItemsWithPlaceholderIDsStaySeparate checks that a message and two calls remain separate items
// although their ids are unreliable. In the three cases, all items have the same id, no item has an
// id, or the id of an item differs between its events.
func TestItemsWithPlaceholderIDsStaySeparate(t *testing.T) {
	for name, id := range map[string]func(string) string{
		"one for all":      func(string) string { return "__fake_id__" },
		"empty":            func(string) string { return "" },
		"another each way": func(at string) string { return "id_" + at },
	} {
		event := func(kind, index, rest string) string {
			return `{"type":"response.` + kind + `","output_index":` + index + `,"item_id":"` + id(kind) + `",` + rest + `}`
		}
		item := func(kind, index, of, rest string) string {
			return `{"type":"response.output_item.` + kind + `","output_index":` + index + `,"item":{"id":"` + id(kind+index) + `","type":"` + of + `",` + rest + `}}`
		}
		resp, err := said(t, created,
			item("added", "0", "message", `"content":[]`),
			item("added", "1", "function_call", `"call_id":"a","name":"f","arguments":""`),
			item("added", "2", "function_call", `"call_id":"b","name":"g","arguments":""`),
			event("output_text.delta", "0", `"delta":"one "`),
			event("function_call_arguments.delta", "2", `"delta":"{\"y\":"`),
			event("function_call_arguments.delta", "1", `"delta":"{\"x\":"`),
			event("output_text.delta", "0", `"delta":"two"`),
			event("function_call_arguments.delta", "2", `"delta":"2}"`),
			event("function_call_arguments.delta", "1", `"delta":"1}"`),
			item("done", "0", "message", `"content":[{"type":"output_text","text":"one two"}]`),
			item("done", "2", "function_call", `"call_id":"b","name":"g","arguments":"{\"y\":2}"`),
			item("done", "1", "function_call", `"call_id":"a","name":"f","arguments":"{\"x\":1}"`),
			completed)
		if err != nil {
			t.Fatal(err)
		}
		calls := resp.ToolCalls()
		if resp.PlainText() != "one two" || len(calls) != 2 || calls[0].RawArguments != `{"x":1}` || calls[1].RawArguments != `{"y":2}` {
			t.Errorf("%s: got %+v", name, resp.Parts)
		}
	}
}

// TestUnsealedReasoningIsOnlyShown checks that reasoning without encrypted content has neither a
// signature nor a native block. Such reasoning cannot be sent back, because the API accepts only
// encrypted content.
func TestUnsealedReasoningIsOnlyShown(t *testing.T) {
	resp, err := said(t, created,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
		`{"type":"response.reasoning_text.delta","output_index":0,"item_id":"rs_1","content_index":0,"delta":"hm"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":null}}`,
		completed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]perdure.Part{{Type: perdure.PartThinking, Thinking: "hm"}}, resp.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}
