package react_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
	"github.com/perdure/perdure/llm/openai"
)

// TestACallWithoutANameIsAnsweredWithAnError checks that a tool call without a name does not fail
// the model call. The next model call gets an error as the result of the tool call.
func TestACallWithoutANameIsAnsweredWithAnError(t *testing.T) {
	chunk := func(delta, reason string) string {
		return `{"id":"x","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + `}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`
	}
	remote := llmtest.Remote{
		Wire: llmtest.OpenAI, BaseEnv: "OPENAI_BASE_URL", KeyEnv: "OPENAI_API_KEY", BasePath: "/v1",
		New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
			return openai.New(openai.Config{Endpoints: e, Client: c})
		},
	}
	provider, server := remote.Serve(t,
		llmtest.Answer{Raw: []string{
			chunk(`{"tool_calls":[{"index":0,"id":"call_1","function":{"arguments":"{\"a\":1}"}}]}`, `null`), chunk(`{}`, `"tool_calls"`), `[DONE]`,
		}},
		llmtest.Answer{Text: []string{"done"}, Usage: perdure.Usage{Output: 1}})
	s := emptyWorkerPool(t, "")
	s.work(100, func(c *workerSetup) { c.Providers = llm.NewProviders(provider) })
	tools := []string{"grep"}
	x, err := s.engine.Start(t.Context(), "default", engine.StartRequest{
		UserPrompt: "look", OneShot: true, Tools: &tools, Models: []perdure.ModelConfig{{Provider: "openai", ModelID: "m"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.completed(x.ID)
	all := strings.Join(s.conversation(x.ID), "\n")
	if !strings.Contains(all, "[unnamed_tool]") || !strings.Contains(all, "unnamed_tool(true) the call names no tool; the tools are: [grep]") || !strings.HasSuffix(all, "done") {
		t.Errorf("the conversation is\n%s", all)
	}
	if n := len(server.Requests()); n != 2 {
		t.Errorf("the model was called %d times, want 2", n)
	}
}
