package gemini_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

func said(t *testing.T, lines ...string) (*llm.Response, error) {
	t.Helper()
	p, _ := remote.Serve(t, llmtest.Answer{Raw: lines})
	resp, _, err := llmtest.TryAsk(t.Context(), p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
	return resp, err
}

// TestEqualCallsWithoutIDsStaySeparate checks that equal calls without ids are separate calls in
// the response.
func TestEqualCallsWithoutIDsStaySeparate(t *testing.T) {
	resp, err := said(t,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}}},{"functionCall":{"name":"f","args":{"a":1}}},{"functionCall":{"name":"g"}}]}}]}`,
		`{"candidates":[{"finishReason":"STOP"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	calls := resp.ToolCalls()
	if len(calls) != 3 || calls[1].RawArguments != `{"a":1}` || string(calls[2].Arguments) != "{}" || resp.StopReason != perdure.StopToolUse {
		t.Errorf("got %+v", resp)
	}
}

func TestHowAnswersEnd(t *testing.T) {
	text := `{"candidates":[{"content":{"parts":[{"text":"x"}]}}],"usageMetadata":{"candidatesTokenCount":1}}`
	for reason, want := range map[string]perdure.StopReason{
		"STOP": perdure.StopEndTurn, "MAX_TOKENS": perdure.StopMaxTokens, "SAFETY": perdure.StopRefusal, "RECITATION": perdure.StopRefusal,
		"PROHIBITED_CONTENT": perdure.StopRefusal, "SPII": perdure.StopRefusal, "BLOCKLIST": perdure.StopRefusal, "LANGUAGE": perdure.StopRefusal,
	} {
		resp, err := said(t, text, `{"candidates":[{"finishReason":"`+reason+`"}]}`)
		if err != nil || resp.StopReason != want {
			t.Errorf("%s: got %v, %v", reason, resp, err)
		}
	}
	for reason, retryable := range map[string]bool{
		"MALFORMED_FUNCTION_CALL": true, "UNEXPECTED_TOOL_CALL": true, "OTHER": true, "MISSING_THOUGHT_SIGNATURE": false,
	} {
		kind := llm.Unknown
		if !retryable {
			kind = llm.InvalidRequest
		}
		_, err := said(t, text, `{"candidates":[{"finishReason":"`+reason+`"}]}`)
		_ = llmtest.WantError(t, err, kind, retryable)
	}
}

// TestBlockedPrompt checks that a stream with a block reason for the prompt, and without a
// candidate, is a response with the stop reason StopRefusal.
func TestBlockedPrompt(t *testing.T) {
	resp, err := said(t, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7}}`)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StopReason != perdure.StopRefusal || resp.Usage.Input != 7 || len(resp.Parts) != 0 {
		t.Errorf("got %+v", resp)
	}
}

func TestUnreadableStream(t *testing.T) {
	_, err := said(t, `{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`, `{"candidates":`)
	_ = llmtest.WantError(t, err, llm.Network, true)
}

// TestFailuresOfGemini checks errors of the Gemini API: the retry delay is read from the body, and
// a wrong key is an error of kind Auth, although its status is 400.
func TestFailuresOfGemini(t *testing.T) {
	ask := func(status int, body string) error {
		p, _ := remote.Serve(t, llmtest.Answer{Status: status, Body: body})
		_, _, err := llmtest.TryAsk(t.Context(), p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
		return err
	}
	err := ask(429, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`)
	if e := llmtest.WantError(t, err, llm.RateLimited, true); e.RetryAfter != 34500*time.Millisecond {
		t.Errorf("waits %v", e.RetryAfter)
	}
	err = ask(400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid","details":[{"reason":"API_KEY_INVALID"}]}}`)
	if e := llmtest.WantError(t, err, llm.Auth, false); e.Status != 400 {
		t.Errorf("status is %d", e.Status)
	}
	err = ask(400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"bad"}}`)
	_ = llmtest.WantError(t, err, llm.InvalidRequest, false)
}

// TestNullMembersAreSkipped checks that a call succeeds although its stream contains members that
// are null and parts of an unknown kind.
func TestNullMembersAreSkipped(t *testing.T) {
	resp, err := said(t,
		`{"candidates":[null,{"content":null},{"content":{"parts":null}},{"content":{"parts":[null,{},{"executableCode":{"code":"1"}}]}}],"usageMetadata":null}`,
		`null`,
		`{"candidates":[{"content":{"parts":[{"text":"x","inlineData":null,"functionCall":null}]},"finishReason":"STOP"}]}`)
	if err != nil || resp.PlainText() != "x" || resp.StopReason != perdure.StopEndTurn {
		t.Errorf("got %+v, %v", resp, err)
	}
}
