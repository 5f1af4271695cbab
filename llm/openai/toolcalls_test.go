package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
)

// stream returns the data lines of an answer with the given deltas.
func stream(reason string, deltas ...string) []string {
	var lines []string
	for _, d := range deltas {
		lines = append(lines, `{"id":"c1","choices":[{"index":0,"delta":`+d+`,"finish_reason":null}]}`)
	}
	return append(lines, `{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"`+reason+`"}]}`, "[DONE]")
}

func ask(t *testing.T, lines ...string) (*llm.Response, error) {
	t.Helper()
	p, _ := remote.Serve(t, llmtest.Answer{Raw: lines})
	resp, deltas, err := llmtest.TryAsk(t.Context(), p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
	if err == nil {
		folded := llm.Fold(deltas)
		for i := range folded {
			folded[i].ThinkingSignature = resp.Parts[i].ThinkingSignature
		}
		if diff := cmp.Diff(resp.Parts, folded); diff != "" {
			t.Errorf("what was streamed is not what was returned (-returned +streamed):\n%s", diff)
		}
	}
	return resp, err
}

// fragments returns one delta per tool call fragment.
func fragments(calls ...string) []string {
	var deltas []string
	for _, c := range calls {
		deltas = append(deltas, `{"tool_calls":[`+c+`]}`)
	}
	return deltas
}

// checkCalls compares the tool calls in the response to a stream of these deltas with `want`. An
// element of `want` has the form "id name arguments".
func checkCalls(t *testing.T, want []string, deltas []string) {
	t.Helper()
	resp, err := ask(t, stream("tool_calls", deltas...)...)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range resp.ToolCalls() {
		got = append(got, fmt.Sprintf("%s %s %s", c.ProviderID, c.Name, c.RawArguments))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if resp.StopReason != perdure.StopToolUse {
		t.Errorf("stop reason is %s", resp.StopReason)
	}
}

func TestCallIDRepeatedInEveryChunk(t *testing.T) {
	var calls []string
	arguments := `{"content":"` + strings.Repeat("word ", 46) + `"}`
	for i := range len(arguments) {
		calls = append(calls, fmt.Sprintf(`{"index":0,"id":"call_1","type":"function","function":{"name":"write","arguments":%q}}`, arguments[i:i+1]))
	}
	calls = append(calls, `{"index":0,"id":"call_1","function":{"name":"write","arguments":""}}`)
	checkCalls(t, []string{"call_1 write " + arguments}, fragments(calls...))
}

func TestCallsThatAllHaveIndexZero(t *testing.T) {
	for name, c := range map[string]struct{ want, deltas []string }{
		"ids differ": {
			[]string{`a f {"x":1}`, `b f {"x":2}`},
			fragments(
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":":1}"}}`,
				`{"index":0,"id":"b","function":{"name":"f","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"x\":2}"}}`),
		},
		"no ids": {
			[]string{` f {"x":1}`, ` f {"x":2}`, ` g {"x":2}`},
			fragments(
				`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}`,
				`{"index":0,"function":{"name":"g","arguments":"{\"x\":2}"}}`),
		},
		"no ids, name first": {
			[]string{` f {"x":1}`, ` f {"x":2}`},
			fragments(
				`{"index":0,"function":{"name":"f","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"x\":1}"}}`,
				`{"index":0,"function":{"name":"f","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"x\":2}"}}`),
		},
		"no index": {
			[]string{`a f {"x":1}`, `b f {"x":2}`},
			fragments(
				`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"function":{"arguments":"1}"}}`,
				`{"id":"b","function":{"name":"f","arguments":"{\"x\":"}}`, `{"id":"b","function":{"arguments":"2}"}}`),
		},
		"neither index nor id": {
			[]string{` f {"x":1}`, ` f {"x":2}`},
			fragments(`{"function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"function":{"name":"f","arguments":"{\"x\":2}"}}`),
		},
	} {
		t.Run(name, func(t *testing.T) { checkCalls(t, c.want, c.deltas) })
	}
}

func TestMalformedCalls(t *testing.T) {
	for name, c := range map[string]struct{ want, deltas []string }{
		"one call delivered twice": {
			[]string{`a f {"x":1}`},
			fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`),
		},
		"one call delivered twice, in pieces": {
			[]string{`a f {"x":1}`},
			fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`, `{"index":1,"function":{"arguments":":1}"}}`),
		},
		"one id, other arguments": {
			[]string{`a f {"x":1}`, `a f {"x":2}`},
			fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":2}"}}`),
		},
		"one id, other argument bytes": {
			[]string{`a f {"x":1}`, `a f {"x": 1}`},
			fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\": 1}"}}`),
		},
		"one id, another name": {
			[]string{`a f {"x":1}`, `a g {"x":1}`},
			fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"a","function":{"name":"g","arguments":"{\"x\":1}"}}`),
		},
		"two equal calls without ids are two": {
			[]string{` f {"x":1}`, ` f {"x":1}`},
			fragments(`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":1,"function":{"name":"f","arguments":"{\"x\":1}"}}`),
		},
		"interleaved": {
			[]string{`a f {"x":1}`, `b g {"y":2}`},
			fragments(
				`{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":1,"id":"b","function":{"name":"g","arguments":""}}`,
				`{"index":1,"function":{"arguments":"{\"y\""}}`, `{"index":0,"function":{"arguments":"{\"x\""}}`,
				`{"index":1,"function":{"arguments":":2}"}}`, `{"index":0,"function":{"arguments":":1}"}}`),
		},
		"no arguments": {
			[]string{`a f `, `b g {}`},
			fragments(`{"index":0,"id":"a","function":{"name":"f"}}`, `{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`),
		},
		"a placeholder before the arguments": {
			[]string{`a f {"x":1}`},
			fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"index":0,"function":{"arguments":"{\"x\":1}"}}`),
		},
		"arguments as an object": {
			[]string{`a f {"x":1}`},
			fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`),
		},
		"the id comes late": {
			[]string{`a f {"x":1}`},
			fragments(`{"index":0,"id":"","function":{"name":"f","arguments":"{"}}`, `{"index":0,"id":"a","function":{"arguments":"\"x\":1}"}}`),
		},
		"another id without arguments, after a call without id": {
			[]string{` f {"x":1}`, `b f `},
			fragments(`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"b","function":{"name":"f","arguments":""}}`),
		},
		"nulls": {
			[]string{`a f {"x":1}`},
			fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`, `{"index":0,"id":null,"function":{"name":null,"arguments":"{\"x\":1}"}}`),
		},
	} {
		t.Run(name, func(t *testing.T) { checkCalls(t, c.want, c.deltas) })
	}
}

func TestNamelessCallIsKept(t *testing.T) {
	resp, err := ask(t, stream("tool_calls", fragments(`{"index":0,"id":"a","function":{"arguments":"{}"}}`)...)...)
	if err != nil || len(resp.ToolCalls()) != 1 || resp.ToolCalls()[0].Name != perdure.UnnamedTool {
		t.Errorf("got %+v, %v", resp, err)
	}
}

func TestReasoningFields(t *testing.T) {
	for _, field := range []string{"reasoning_content", "reasoning"} {
		resp, err := ask(t, stream("stop", `{"`+field+`":"hm, "}`, `{"`+field+`":"yes"}`, `{"content":"Yes.","`+field+`":null}`)...)
		if err != nil {
			t.Fatal(err)
		}
		want := []perdure.Part{{Type: perdure.PartThinking, Thinking: "hm, yes", ThinkingSignature: field}, perdure.Text("Yes.")}
		if diff := cmp.Diff(want, resp.Parts); diff != "" {
			t.Errorf("parts (-want +got):\n%s", diff)
		}
	}
}

// TestEndings checks that a stream without a finish reason gives a retryable error, even if the
// stream ends with [DONE]. A stream with a finish reason but without [DONE] is a response.
func TestEndings(t *testing.T) {
	half := `{"id":"c1","choices":[{"index":0,"delta":{"content":"half"},"finish_reason":null}]}`
	for name, c := range map[string]struct {
		lines []string
		want  llm.ErrorKind
	}{
		"done without a finish reason": {[]string{half, "[DONE]"}, llm.Network},
		"an empty finish reason":       {[]string{half, `{"choices":[{"index":0,"delta":{},"finish_reason":""}]}`, "[DONE]"}, llm.Network},
		"a failing gateway":            {[]string{half, `{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`, "[DONE]"}, llm.Unknown},
		"nothing at all":               {[]string{}, llm.Network},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t, c.lines...)
			llmtest.WantError(t, err, c.want, true)
		})
	}
	resp, err := ask(t, half, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)
	if err != nil || resp.PlainText() != "half" {
		t.Errorf("without [DONE]: got %v, %v", resp, err)
	}
	resp, err = ask(t, stream("stop", `{"refusal":"I will not."}`)...)
	if err != nil || resp.StopReason != perdure.StopRefusal || resp.PlainText() != "I will not." {
		t.Errorf("a refusal: got %v, %v", resp, err)
	}
}

func TestFailuresByCode(t *testing.T) {
	for code, want := range map[string]struct {
		status    int
		kind      llm.ErrorKind
		retryable bool
	}{
		"insufficient_quota":      {429, llm.RateLimited, false},
		"rate_limit_exceeded":     {429, llm.RateLimited, true},
		"content_filter":          {400, llm.Refused, false},
		"context_length_exceeded": {400, llm.ContextLength, false},
	} {
		p, _ := remote.Serve(t, llmtest.Answer{Status: want.status, Body: `{"error":{"message":"m","type":"t","code":"` + code + `"}}`})
		_, _, err := llmtest.TryAsk(t.Context(), p, llm.Request{Model: model, Messages: []perdure.Message{perdure.UserText("hi")}})
		llmtest.WantError(t, err, want.kind, want.retryable)
	}
}
