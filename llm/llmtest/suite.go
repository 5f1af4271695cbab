package llmtest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// Case is a provider under test.
type Case struct {
	// Model is the id of the model that the suite calls.
	Model string
	// New creates a provider that returns the given answers, one per call. A provider without a server
	// may ignore Status and Header.
	New func(t *testing.T, answers ...Answer) llm.Provider
	// Unsigned reports that the provider ignores the signature of thinking in an Answer.
	Unsigned bool
	// NoCacheWrite reports that the provider does not count tokens written to its cache.
	NoCacheWrite bool
	// NoReasoningCount reports that the provider does not count reasoning tokens.
	NoReasoningCount bool
}

// Run checks that the provider follows the contract of llm.Provider.
func Run(t *testing.T, c Case) {
	for name, test := range map[string]func(*testing.T, Case){
		"text":                        testText,
		"thinking":                    testThinking,
		"parallel calls":              testCalls,
		"stop reasons":                testStopReasons,
		"emit aborts":                 testEmitAborts,
		"cancel":                      testCancel,
		"concurrent":                  testConcurrent,
		"cut stream":                  testCutStream,
		"an empty answer is an error": testEmptyAnswer,
		"the same request twice":      testRepeat,
		"a conversation of two turns": testTwoTurns,
	} {
		t.Run(name, func(t *testing.T) { test(t, c) })
	}
}

// Ask makes a call with p and returns the response and the deltas. An error fails the test.
func Ask(t *testing.T, p llm.Provider, req llm.Request) (*llm.Response, []llm.Delta) {
	t.Helper()
	resp, deltas, err := TryAsk(t.Context(), p, req)
	if err != nil {
		t.Fatalf("Stream: %v", err)
	}
	return resp, deltas
}

// TryAsk makes a call with p and returns the response, the deltas and the error.
func TryAsk(ctx context.Context, p llm.Provider, req llm.Request) (*llm.Response, []llm.Delta, error) {
	var deltas []llm.Delta
	resp, err := p.Stream(ctx, req, func(d llm.Delta) error {
		deltas = append(deltas, d)
		return nil
	})
	return resp, deltas, err
}

// WantError fails the test unless err is an *llm.Error with the given kind and Retryable. It returns
// that error.
func WantError(t *testing.T, err error, kind llm.ErrorKind, retryable bool) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *llm.Error", err)
	}
	if e.Kind != kind || e.Retryable != retryable {
		t.Fatalf("error %v: kind %s, retryable %v; want %s, %v", e, e.Kind, e.Retryable, kind, retryable)
	}
	if e.Provider == "" || e.Message == "" {
		t.Errorf("error %+v must name its provider and say something", e)
	}
	return e
}

func (c Case) request(text string) llm.Request {
	return llm.Request{Model: c.Model, Messages: []perdure.Message{perdure.UserText(text)}}
}

// checkFold checks that the result of Fold for the deltas equals the returned content.
func checkFold(t *testing.T, resp *llm.Response, deltas []llm.Delta) {
	t.Helper()
	unsigned := cmpopts.IgnoreFields(perdure.Part{}, "TextSignature", "ThinkingSignature", "Redacted", "Native")
	if diff := cmp.Diff(resp.Parts, llm.Fold(deltas), unsigned); diff != "" {
		t.Errorf("what was streamed is not what was returned (-returned +streamed):\n%s", diff)
	}
}

func testText(t *testing.T, c Case) {
	a := Answer{Text: []string{"Hello, ", "wörld", "!"}, Usage: perdure.Usage{Input: 10, Output: 5, CacheRead: 3, CacheWrite: 2}}
	if !c.NoReasoningCount {
		a.Usage.Reasoning = new(int64(2))
	}
	p := c.New(t, a)
	resp, deltas := Ask(t, p, c.request("hi"))
	checkFold(t, resp, deltas)
	if len(deltas) < 2 {
		t.Errorf("got %d pieces: the answer must be streamed", len(deltas))
	}
	want := []perdure.Part{perdure.Text("Hello, wörld!")}
	if diff := cmp.Diff(want, resp.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if resp.Provider != p.Name() || resp.Model != c.Model || resp.StopReason != perdure.StopEndTurn || resp.ProviderResponseID == "" {
		t.Errorf("response is %+v", resp)
	}
	u := a.Usage
	if c.NoCacheWrite {
		u.CacheWrite = 0
	}
	u.TotalTokens, u.Calls = u.Input+u.Output+u.CacheRead+u.CacheWrite, 1
	if diff := cmp.Diff(&u, resp.Usage, cmpopts.IgnoreFields(perdure.Usage{}, "Cost")); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

func testThinking(t *testing.T, c Case) {
	a := Answer{Thinking: "Let me see.", Signature: "c2ln+/+/", Text: []string{"Yes."}, Usage: perdure.Usage{Input: 1, Output: 9}}
	resp, deltas := Ask(t, c.New(t, a), c.request("hi"))
	checkFold(t, resp, deltas)
	want := []perdure.Part{{Type: perdure.PartThinking, Thinking: a.Thinking, ThinkingSignature: a.Signature}, perdure.Text("Yes.")}
	opts := []cmp.Option{cmpopts.IgnoreFields(perdure.Part{}, "Native")}
	if c.Unsigned {
		opts = append(opts, cmpopts.IgnoreFields(perdure.Part{}, "ThinkingSignature"))
	}
	if diff := cmp.Diff(want, resp.Parts, opts...); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

func testCalls(t *testing.T, c Case) {
	a := Answer{
		Text: []string{"Looking."},
		Calls: []Call{
			{ID: "call_1_1", Name: "read-file", Arguments: `{ "path": "a.go",  "n": 1.0 }`},
			{ID: "call_1_2", Name: "read-file", Arguments: `{"path":"ü.go"}`},
			{ID: "call_1_3", Name: "list", Arguments: `{}`},
		},
		Usage: perdure.Usage{Input: 1, Output: 9},
	}
	resp, deltas := Ask(t, c.New(t, a), c.request("hi"))
	checkFold(t, resp, deltas)
	if resp.StopReason != perdure.StopToolUse {
		t.Errorf("stop reason is %q", resp.StopReason)
	}
	calls := resp.ToolCalls()
	if len(calls) != len(a.Calls) {
		t.Fatalf("got %d calls, want %d", len(calls), len(a.Calls))
	}
	for i, want := range a.Calls {
		got := calls[i]
		if got.ID != "" || got.ProviderID != want.ID || got.Name != want.Name {
			t.Errorf("call %d is %+v", i, got)
		}
		if text := string(got.Arguments); text != want.Arguments || got.RawArguments != want.Arguments && got.RawArguments != "" {
			t.Errorf("arguments of call %d are %q, raw %q; want them verbatim: %q", i, text, got.RawArguments, want.Arguments)
		}
	}
}

func testStopReasons(t *testing.T, c Case) {
	for _, stop := range []perdure.StopReason{perdure.StopEndTurn, perdure.StopMaxTokens, perdure.StopRefusal} {
		resp, _ := Ask(t, c.New(t, Answer{Text: []string{"x"}, Stop: stop, Usage: perdure.Usage{Output: 1}}), c.request("hi"))
		if resp.StopReason != stop {
			t.Errorf("stop reason is %q, want %q", resp.StopReason, stop)
		}
	}
}

func testEmitAborts(t *testing.T, c Case) {
	mine := errors.New("mine")
	calls := 0
	_, err := c.New(t, Answer{Text: []string{"one ", "two"}}).Stream(t.Context(), c.request("hi"), func(llm.Delta) error {
		calls++
		return mine
	})
	if !errors.Is(err, mine) || calls != 1 {
		t.Errorf("got %v after %d pieces; want emit's error after the first", err, calls)
	}
}

func testCancel(t *testing.T, c Case) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.New(t, Answer{Text: []string{"one "}, HangAfter: true}).Stream(ctx, c.request("hi"), func(llm.Delta) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	var e *llm.Error
	if errors.As(err, &e) {
		t.Errorf("a cancelled call is no failure of the provider: %v", e)
	}
}

func testConcurrent(t *testing.T, c Case) {
	p := c.New(t, Answer{Text: []string{"same ", "for ", "all"}, Usage: perdure.Usage{Output: 3}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			resp, _, err := TryAsk(t.Context(), p, c.request("hi"))
			if err != nil || resp.PlainText() != "same for all" {
				t.Errorf("got %v, %v", resp, err)
			}
		})
	}
	wg.Wait()
}

func testCutStream(t *testing.T, c Case) {
	for name, a := range map[string]Answer{
		"in order": {Text: []string{"half an ans"}, Cut: true},
		"by reset": {Text: []string{"half an ans"}, Break: true},
	} {
		resp, _, err := TryAsk(t.Context(), c.New(t, a), c.request("hi"))
		if resp != nil {
			t.Errorf("%s: got a response", name)
		}
		_ = WantError(t, err, llm.Network, true)
	}
}

func testEmptyAnswer(t *testing.T, c Case) {
	_, _, err := TryAsk(t.Context(), c.New(t, Answer{Usage: perdure.Usage{Input: 7}}), c.request("hi"))
	_ = WantError(t, err, llm.EmptyAnswer, true)
}

func testRepeat(t *testing.T, c Case) {
	a := Answer{Text: []string{"the ", "same"}, Usage: perdure.Usage{Input: 1, Output: 2}}
	p := c.New(t, a, a)
	one, first := Ask(t, p, c.request("hi"))
	two, second := Ask(t, p, c.request("hi"))
	if diff := cmp.Diff(one, two); diff != "" {
		t.Errorf("the second response differs:\n%s", diff)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("the second stream differs:\n%s", diff)
	}
}

func testTwoTurns(t *testing.T, c Case) {
	p := c.New(t,
		Answer{Calls: []Call{{ID: "call_1_1", Name: "list", Arguments: `{"n":1}`}}, Usage: perdure.Usage{Output: 1}},
		Answer{Text: []string{"Two files."}, Usage: perdure.Usage{Output: 1}})
	req := c.request("what is here?")
	resp, _ := Ask(t, p, req)
	req.Messages = append(req.Messages, Answered(resp, "a.go\nb.go")...)
	resp, _ = Ask(t, p, req)
	if got := resp.PlainText(); !strings.HasPrefix(got, "Two files.") {
		t.Errorf("the second turn says %q", got)
	}
}

// Answered returns the messages with which the next request continues: the response as a message
// with new ids, and the given result for each of its tool calls.
func Answered(resp *llm.Response, result string) []perdure.Message {
	content := resp.Content
	content.Parts = append([]perdure.Part(nil), resp.Parts...)
	messages := []perdure.Message{{Role: perdure.RoleAssistant}}
	for i := range content.Parts {
		p := &content.Parts[i]
		if p.Type != perdure.PartToolCall {
			continue
		}
		if p.ID = "toolu-own-" + p.ProviderID; p.ProviderID == "" {
			p.ID += strconv.Itoa(i)
		}
		messages = append(messages, Result(p.ID, p.Name, perdure.Text(result)))
	}
	messages[0].Content = content
	return messages
}

// Result returns a message with the result of a tool call.
func Result(callID, tool string, parts ...perdure.Part) perdure.Message {
	return perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{{
		Type: perdure.PartToolResult, ToolCallID: callID, ToolName: tool, Parts: parts,
	}}}}
}
