package anthropic_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// pausing returns a provider whose server answers requests with the elements of `streams` in order,
// and all further requests with the last element.
func pausing(t *testing.T, streams ...[]string) (llm.Provider, *[]json.RawMessage) {
	t.Helper()
	var got []json.RawMessage // the messages of each request; requests are sequential
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var body struct{ Messages json.RawMessage }
		if err != nil || json.Unmarshal(raw, &body) != nil {
			t.Errorf("the request is %s, %v", raw, err)
		}
		lines := streams[min(len(got), len(streams)-1)]
		got = append(got, body.Messages)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, line := range lines {
			var event struct{ Type string }
			_ = json.Unmarshal([]byte(line), &event)
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event.Type, line)
		}
	}))
	t.Cleanup(h.Close)
	return remote.At(t, h.URL, llm.TransportConfig{}), &got
}

var pausedStream = []string{
	`{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":3,"cache_read_input_tokens":2}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I look \ud83d"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ude00"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"cats\"}"}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[{"type":"web_search_result","url":"https://example.com","encrypted_content":"e"}]}}`,
	`{"type":"content_block_stop","index":2}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_stop","index":3}`,
	`{"type":"content_block_start","index":4,"content_block":{"type":"text","text":"","citations":[]}}`,
	`{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"Half"}}`,
	`{"type":"content_block_delta","index":4,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"https://example.com","cited_text":"c"}}}`,
	`{"type":"content_block_stop","index":4}`,
	`{"type":"message_delta","delta":{"stop_reason":"pause_turn"},"usage":{"output_tokens":5}}`, finish,
}

// TestAPausedTurnIsContinued checks that a paused answer is sent back unchanged in a second
// request. The response contains the text of both streams and the usage of both requests.
func TestAPausedTurnIsContinued(t *testing.T) {
	p, got := pausing(t, pausedStream, []string{
		`{"type":"message_start","message":{"id":"msg_2","usage":{"input_tokens":7}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" and half."}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}`, finish,
	})
	resp, deltas := llmtest.Ask(t, p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
	if resp.PlainText() != "Half and half." || llm.Fold(deltas)[0].Thinking != "I look 😀" || resp.StopReason != perdure.StopEndTurn {
		t.Errorf("got %+v", resp)
	}
	u := resp.Usage
	if u.Input != 10 || u.Output != 9 || u.CacheRead != 2 || u.Calls != 2 || u.TotalTokens != 21 {
		t.Errorf("usage is %+v", u)
	}
	if len(*got) != 2 {
		t.Fatalf("there were %d requests", len(*got))
	}
	var sent []any
	if err := json.Unmarshal((*got)[1], &sent); err != nil || len(sent) != 2 {
		t.Fatalf("sent %s, %v", (*got)[1], err)
	}
	var want any
	if err := json.Unmarshal([]byte(`{"role":"assistant","content":[
		{"type":"thinking","thinking":"I look 😀","signature":"c2ln"},
		{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"cats"}},
		{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[{"type":"web_search_result","url":"https://example.com","encrypted_content":"e"}]},
		{"type":"text","text":"Half","citations":[{"type":"web_search_result_location","url":"https://example.com","cited_text":"c"}]}]}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, sent[1]); diff != "" {
		t.Errorf("sent back (-want +got):\n%s", diff)
	}
}

// TestPausesAreBounded checks that an answer that pauses again and again is continued five times.
// The response then has the stop reason StopTurnLimit and the usage of all six requests.
func TestPausesAreBounded(t *testing.T) {
	p, got := pausing(t, pausedStream)
	resp, _ := llmtest.Ask(t, p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
	if len(*got) != 6 || resp.StopReason != perdure.StopTurnLimit || resp.Usage.Calls != 6 || resp.Usage.Output != 30 {
		t.Errorf("%d requests, stop reason %s, usage %+v", len(*got), resp.StopReason, resp.Usage)
	}
	var last []struct{ Content []json.RawMessage }
	if err := json.Unmarshal((*got)[5], &last); err != nil || len(last) != 2 || len(last[1].Content) != 5*4 {
		t.Errorf("the last request is %s, %v", (*got)[5], err)
	}
}
