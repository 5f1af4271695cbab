package anthropic_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/anthropic"
	"github.com/perdure/perdure/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var remote = llmtest.Remote{
	Wire: llmtest.Anthropic, Model: "claude-sonnet-4-5",
	BaseEnv: "ANTHROPIC_BASE_URL", KeyEnv: "ANTHROPIC_API_KEY",
	SentKey: "X-Api-Key", SentValue: llmtest.Secret,
	New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
		return anthropic.New(anthropic.Config{Endpoints: e, Client: c})
	},
}

func TestConformance(t *testing.T) { llmtest.RunRemote(t, remote, llmtest.Case{}) }
