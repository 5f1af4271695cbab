package gemini_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/gemini"
	"github.com/perdure/perdure/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var remote = llmtest.Remote{
	Wire: llmtest.Gemini, Model: "gemini-3-pro-preview",
	BaseEnv: "GOOGLE_GEMINI_BASE_URL", KeyEnv: "GEMINI_API_KEY",
	SentKey: "X-Goog-Api-Key", SentValue: llmtest.Secret,
	New: func(e *llm.Endpoints, c *http.Client) llm.Provider {
		return gemini.New(gemini.Config{Endpoints: e, Client: c})
	},
}

func TestConformance(t *testing.T) { llmtest.RunRemote(t, remote, llmtest.Case{NoCacheWrite: true}) }
