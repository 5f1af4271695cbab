package llm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/anthropic"
	"github.com/perdure/perdure/llm/gemini"
	"github.com/perdure/perdure/llm/llmtest"
	"github.com/perdure/perdure/llm/openai"
	"github.com/perdure/perdure/llm/openairesponses"
)

// remotes are the providers that call an API over HTTP, each with a model. Chat Completions is
// listed twice: for compatible servers and for OpenAI itself, whose rules are stricter.
var remotes = []llmtest.Remote{
	{
		Wire: llmtest.Anthropic, Model: "claude-sonnet-4-5", BaseEnv: "ANTHROPIC_BASE_URL", KeyEnv: "ANTHROPIC_API_KEY",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return anthropic.New(anthropic.Config{Endpoints: e, Client: c})
		},
	},
	{
		Wire: llmtest.OpenAI, Model: "gpt-5", BaseEnv: "OPENAI_BASE_URL", KeyEnv: "OPENAI_API_KEY", BasePath: "/v1",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return openai.New(openai.Config{Endpoints: e, Client: c})
		},
	},
	{
		Wire: llmtest.OpenAIResponses, Model: "gpt-5", BaseEnv: "OPENAI_BASE_URL", KeyEnv: "OPENAI_API_KEY", BasePath: "/v1",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return openairesponses.New(openairesponses.Config{Endpoints: e, Client: c})
		},
	},
	{
		Wire: llmtest.Gemini, Model: "gemini-3-pro-preview", BaseEnv: "GOOGLE_GEMINI_BASE_URL", KeyEnv: "GEMINI_API_KEY",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return gemini.New(gemini.Config{Endpoints: e, Client: c})
		},
	},
	{
		Wire: llmtest.OpenAIOfficial, Model: "gpt-5", BaseEnv: "OPENAI_BASE_URL", KeyEnv: "OPENAI_API_KEY", BasePath: "/v1", New: official,
	},
}

// official creates a provider with OpenAI's own base URL. The provider's HTTP client sends the
// requests to the server of the test.
func official(e *llm.Endpoints, c *http.Client) llm.Provider {
	here, err := e.Resolve("openai", "", "")
	if err != nil {
		panic(err)
	}
	there, err := llm.NewEndpoints(func(name string) string { return map[string]string{"OPENAI_API_KEY": llmtest.Secret}[name] })
	if err != nil {
		panic(err)
	}
	return openai.New(openai.Config{Endpoints: there, Client: &http.Client{Transport: diverted{here.BaseURL, c.Transport}}})
}

type diverted struct {
	to   string
	next http.RoundTripper
}

func (d diverted) RoundTrip(req *http.Request) (*http.Response, error) {
	rest, ok := strings.CutPrefix(req.URL.String(), "https://api.openai.com/v1")
	if !ok {
		return nil, fmt.Errorf("%s is not OpenAI's", req.URL)
	}
	to, err := url.Parse(d.to + rest)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.URL, req.Host = to, to.Host
	return d.next.RoundTrip(req)
}

// TestAnyStoredConversationIsAccepted checks that each provider's request for a random stored
// conversation follows the rules of its API, as llmtest implements them. The request contains no
// signature of another model. A second request for the same conversation has the same bytes.
func TestAnyStoredConversationIsAccepted(t *testing.T) {
	type sender struct {
		remote llmtest.Remote
		here   llm.Provider
		server *llmtest.Server
	}
	var senders []sender
	for _, r := range remotes {
		p, server := r.Serve(t, llmtest.Answer{Text: []string{"ok"}, Usage: perdure.Usage{Output: 1}})
		senders = append(senders, sender{r, p, server})
	}
	rapid.Check(t, func(t *rapid.T) {
		path := llmtest.DrawPath(t)
		thinking := rapid.SampledFrom([]llm.Thinking{"", llm.ThinkingOff, llm.ThinkingHigh}).Draw(t, "thinking")
		for _, s := range senders {
			req := llm.Request{Model: s.remote.Model, System: "Be brief.", Thinking: thinking, Messages: path.Messages, Tools: offered}
			before := len(s.server.Requests())
			for range 2 {
				if _, _, err := llmtest.TryAsk(t.Context(), s.here, req); err != nil {
					t.Fatalf("%s: %v", s.here.Name(), err)
				}
			}
			got := s.server.Requests()[before:]
			if !bytes.Equal(got[0].Raw, got[1].Raw) {
				t.Fatalf("%s: the second request differs:\n%s\n%s", s.here.Name(), got[0].Raw, got[1].Raw)
			}
			if err := s.remote.Wire.Check(got[0].Raw); err != nil {
				t.Fatalf("%s would refuse: %v\n%s", s.here.Name(), err, got[0].Raw)
			}
			path.CheckSignatures(llm.Model{Provider: s.here.Name(), ID: s.remote.Model}, got[0].Raw)
		}
	})
}

// offered are the tools of the requests. One tool occurs twice, as in executions that were started
// before duplicate names were refused.
var offered = []llm.ToolSpec{
	{Name: "bash", Schema: json.RawMessage(`{"type":"object"}`)},
	{Name: "read-file", Schema: json.RawMessage(`{"type":"object"}`)},
	{Name: "bash", Schema: json.RawMessage(`{"type":"object"}`)},
}

func message(role perdure.Role, parts []perdure.Part) perdure.Message {
	return perdure.Message{Role: role, Content: perdure.Content{Parts: parts}}
}
