package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/anthropic"
	"github.com/perdure/perdure/llm/gemini"
	"github.com/perdure/perdure/llm/llmtest"
	"github.com/perdure/perdure/llm/openai"
	"github.com/perdure/perdure/llm/openairesponses"
)

// station is a provider that answers one part of a conversation, with the wire format and the path
// of the provider's API.
type station struct {
	model llm.Model
	wire  llmtest.Wire
	path  string
}

var stations = []station{
	{llm.Model{Provider: "anthropic", ID: "claude-sonnet-4-5"}, llmtest.Anthropic, "/v1/messages"},
	{llm.Model{Provider: "openai", ID: "gpt-5"}, llmtest.OpenAI, "/v1/chat/completions"},
	{llm.Model{Provider: "openai-responses", ID: "gpt-5"}, llmtest.OpenAIResponses, "/v1/responses"},
	{llm.Model{Provider: "gemini", ID: "gemini-3-pro-preview"}, llmtest.Gemini, "/v1beta/models/gemini-3-pro-preview:streamGenerateContent"},
}

// TestConversationMovesBetweenProviders checks that a conversation moves between all providers in
// every order. The conversation contains thinking, parallel calls, images and failed tools. Each
// request follows the rules of its provider's API.
func TestConversationMovesBetweenProviders(t *testing.T) {
	const question, after = "What is in the picture", "The images of the tool results"
	calls := turn{
		Thinking: "I look first.", Signature: "c2lnbmF0dXJl", Text: "Let me look.",
		Calls: []toolCall{
			{ID: "c1", Name: "read-file", Arguments: map[string]any{"path": "a.png", "id": 7}},
			{ID: "c2", Name: "bash", Arguments: map[string]any{"command": "false"}},
		},
		Usage: tokens(10, 5),
	}
	done := turn{Thinking: "I see.", Signature: "c2lnbmF0dXJl", Text: "A cat: ünï → ✓.", Usage: tokens(20, 7)}
	mock := startAimock(t, say(question, false, calls), say(question, true, done), say(after, false, done))
	seen := &recorder{next: http.DefaultTransport.(*http.Transport).Clone()}
	t.Cleanup(seen.next.CloseIdleConnections)
	providers := mock.providers(t, seen)
	for _, order := range orders(len(stations)) {
		var names []string
		for _, i := range order {
			names = append(names, stations[i].model.Provider)
		}
		t.Run(strings.Join(names, " "), func(t *testing.T) {
			r := route{t: t, providers: providers, seen: seen}
			for n, i := range append(order, order[0]) { // the route ends at the first provider again
				r.pass(stations[i], fmt.Sprintf("%s %d?", question, n))
			}
		})
	}
	mock.calls() // fails if a call was not answered
}

// say returns a fixture for a question. The parameter `tools` says whether the fixture matches before
// (false) or after (true) the tools of the question have run.
func say(words string, tools bool, t turn) fixture {
	f := fixture{Response: t, ChunkSize: 12}
	f.Match.UserMessage, f.Match.ToolResult = words, &tools
	return f
}

func orders(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var all [][]int
	for _, short := range orders(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(short), at, n-1))
		}
	}
	return all
}

// providers creates all four providers, which call the mock.
func (a *aimock) providers(t *testing.T, through http.RoundTripper) *llm.Providers {
	t.Helper()
	env := map[string]string{}
	for _, s := range stations {
		for _, pair := range a.environment(s.model.Provider) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
	}
	endpoints, err := llm.NewEndpoints(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: through}
	return llm.NewProviders(
		anthropic.New(anthropic.Config{Endpoints: endpoints, Client: c}),
		openai.New(openai.Config{Endpoints: endpoints, Client: c}),
		openairesponses.New(openairesponses.Config{Endpoints: endpoints, Client: c}),
		gemini.New(gemini.Config{Endpoints: endpoints, Client: c}),
	)
}

// recorder records the last request.
type recorder struct {
	next *http.Transport
	path string
	body []byte
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.path, r.body = req.URL.Path, body
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	return r.next.RoundTrip(req)
}

// route is a conversation that moves between providers.
type route struct {
	t         *testing.T
	providers *llm.Providers
	seen      *recorder
	messages  []perdure.Message
	answers   int
}

var picture = perdure.Part{Type: perdure.PartImage, Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", MimeType: "image/png"}

// pass sends a question with an image to the station's provider, answers the provider's tool calls,
// and reads the final answer to its end.
func (r *route) pass(s station, question string) {
	r.t.Helper()
	r.messages = append(r.messages, perdure.Message{
		Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Text(question), picture}},
	})
	m := r.ask(s)
	calls := m.ToolCalls()
	if len(calls) != 2 || m.StopReason != perdure.StopToolUse || m.PlainText() != "Let me look." || m.Parts[0].Thinking == "" {
		r.t.Fatalf("%s said %+v", s.model, m.Content)
	}
	r.messages = append(r.messages,
		llmtest.Result(calls[0].ID, calls[0].Name, perdure.Text("the file:"), picture),
		llmtest.Result(calls[1].ID, calls[1].Name))
	r.messages[len(r.messages)-1].Parts[0].IsError = true
	if m := r.ask(s); m.PlainText() != "A cat: ünï → ✓." || m.Usage.Input != 20 || m.Usage.Output != 7 {
		r.t.Fatalf("%s said %+v", s.model, m.Content)
	}
}

// ask makes one call to a station's provider, and checks that the request follows the rules of the
// provider's API. It appends the answer to the conversation, in the form in which answers are stored.
func (r *route) ask(s station) perdure.Message {
	r.t.Helper()
	p, err := r.providers.Lookup(s.model.Provider)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := p.Stream(r.t.Context(), llm.Request{
		Model: s.model.ID, System: "You look at pictures.", Thinking: llm.ThinkingLow, Messages: r.messages,
		Tools: []llm.ToolSpec{
			{Name: "read-file", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "bash", Schema: json.RawMessage(`{"type":"object"}`)},
		},
	}, func(llm.Delta) error { return nil })
	if err != nil {
		r.t.Fatalf("%s, message %d: %v", s.model, len(r.messages), err)
	}
	if r.seen.path != s.path {
		r.t.Errorf("%s was called at %s", s.model, r.seen.path)
	}
	if err := s.wire.Check(r.seen.body); err != nil {
		r.t.Errorf("%s would refuse: %v\n%s", s.model, err, r.seen.body)
	}
	r.answers++
	for i := range resp.Parts {
		if resp.Parts[i].Type == perdure.PartToolCall {
			resp.Parts[i].ID = fmt.Sprintf("call_%d_%d", r.answers, i)
		}
	}
	e, err := perdure.NewMessageEntry(perdure.Message{Role: perdure.RoleAssistant, Content: resp.Content})
	if err != nil {
		r.t.Fatal(err)
	}
	m, err := e.Message()
	if err != nil {
		r.t.Fatal(err)
	}
	r.messages = append(r.messages, m)
	return m
}
