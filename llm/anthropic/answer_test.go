package anthropic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

func ask(t *testing.T, lines ...string) (*llm.Response, error) {
	t.Helper()
	p, _ := remote.Serve(t, llmtest.Answer{Raw: lines})
	resp, deltas, err := llmtest.TryAsk(t.Context(), p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
	if err == nil {
		if diff := cmp.Diff(resp.Parts, llm.Fold(deltas)); diff != "" {
			t.Errorf("what was streamed is not what was returned:\n%s", diff)
		}
	}
	return resp, err
}

const (
	begin  = `{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":3}}}`
	finish = `{"type":"message_stop"}`
)

func toolBlock(index, block string) []string {
	return []string{
		`{"type":"content_block_start","index":` + index + `,"content_block":` + block + `}`,
		`{"type":"content_block_stop","index":` + index + `}`,
	}
}

func TestToolBlocksOfCompatibleServers(t *testing.T) {
	const call = `{"type":"tool_use","id":"a","name":"f","input":{"x":1}}`
	lines := []string{begin}
	lines = append(lines, toolBlock("0", call)...)                                                      // arguments complete at the start
	lines = append(lines, toolBlock("1", call)...)                                                      // the same call again
	lines = append(lines, toolBlock("2", `{"type":"tool_use","id":"a","name":"f","input":{"x":2}}`)...) // another call with the same id
	lines = append(lines, toolBlock("3", `{"type":"tool_use","id":"","name":"g","input":{}}`)...)
	lines = append(lines, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`, finish)
	resp, err := ask(t, lines...)
	if err != nil {
		t.Fatal(err)
	}
	want := []perdure.Part{
		{Type: perdure.PartToolCall, ProviderID: "a", Name: "f", RawArguments: `{"x":1}`, Arguments: []byte(`{"x":1}`)},
		{Type: perdure.PartToolCall, ProviderID: "a", Name: "f", RawArguments: `{"x":2}`, Arguments: []byte(`{"x":2}`)},
		{Type: perdure.PartToolCall, Name: "g", Arguments: []byte(`{}`)},
	}
	if diff := cmp.Diff(want, resp.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if resp.StopReason != perdure.StopToolUse || resp.Usage.Input != 3 || resp.Usage.Output != 5 {
		t.Errorf("response is %+v", resp)
	}
}

func TestNamelessCallIsKept(t *testing.T) {
	lines := append([]string{begin}, toolBlock("0", `{"type":"tool_use","id":"a","name":"","input":{}}`)...)
	resp, err := ask(t, append(lines, finish)...)
	if err != nil || len(resp.ToolCalls()) != 1 || resp.ToolCalls()[0].Name != perdure.UnnamedTool {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// TestCutArguments checks that a call that the token limit cut off has the received part of its
// arguments in RawArguments, and no Arguments.
func TestCutArguments(t *testing.T) {
	resp, err := ask(t, begin,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"x\": \"unfin"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":5}}`, finish)
	if err != nil {
		t.Fatal(err)
	}
	p := resp.Parts[0]
	if p.RawArguments != `{"x": "unfin` || p.Arguments != nil || resp.StopReason != perdure.StopMaxTokens {
		t.Errorf("response is %+v", resp)
	}
}

// TestSilentRefusal checks that a refusal without content is a response and not an error, because
// a retry would not change it.
func TestSilentRefusal(t *testing.T) {
	resp, err := ask(t, begin, `{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":0}}`, finish)
	if err != nil || resp.StopReason != perdure.StopRefusal || resp.Parts == nil {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// TestEmptyAnswerWithOutputTokens checks that a response without content is valid if it has output
// tokens.
func TestEmptyAnswerWithOutputTokens(t *testing.T) {
	resp, err := ask(t, begin, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`, finish)
	if err != nil || resp.StopReason != perdure.StopEndTurn || len(resp.Parts) != 0 || resp.Parts == nil {
		t.Errorf("got %+v, %v", resp, err)
	}
}

// TestTheWindowEndsAnAnswer checks an answer that ended because the model's context window is full.
// The response has the stop reason StopContextLength. But if the answer has neither content nor
// output tokens, the call returns an error of kind ContextLength.
func TestTheWindowEndsAnAnswer(t *testing.T) {
	const stop = `{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"output_tokens":`
	resp, err := ask(t, begin,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Half an ans"}}`,
		`{"type":"content_block_stop","index":0}`, stop+`3}}`, finish)
	if err != nil || resp.StopReason != perdure.StopContextLength || resp.PlainText() != "Half an ans" {
		t.Errorf("got %+v, %v", resp, err)
	}
	_, err = ask(t, `{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":200000,"output_tokens":0}}}`, stop+`0}}`, finish)
	_ = llmtest.WantError(t, err, llm.ContextLength, false)
}
