package openairesponses_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/llmtest"
	"github.com/perdure/perdure/llm/openairesponses"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var remote = llmtest.Remote{
	Wire: llmtest.OpenAIResponses, Model: "gpt-5",
	BasePath: "/v1", BaseEnv: "OPENAI_BASE_URL", KeyEnv: "OPENAI_API_KEY",
	SentKey: "Authorization", SentValue: "Bearer " + llmtest.Secret,
	New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
		return openairesponses.New(openairesponses.Config{Endpoints: e, Client: c})
	},
}

func TestConformance(t *testing.T) { llmtest.RunRemote(t, remote, llmtest.Case{}) }
