package openai

import (
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// server is what differs between OpenAI and the servers that are compatible
// with it.
type server struct {
	official bool
	ids      llm.IDRule
}

func serverAt(baseURL string) server {
	host := gpt.Host(baseURL)
	s := server{official: gpt.Official(host), ids: llm.CompatibleIDs}
	if s.official {
		s.ids = llm.OpenAIChatIDs
	}
	if host == "mistral.ai" || strings.HasSuffix(host, ".mistral.ai") {
		s.ids = llm.MistralIDs
	}
	return s
}

// setLimits sets the token limit, the reasoning effort and the temperature.
// Compatible servers often know max_tokens only; OpenAI's reasoning models
// refuse it.
func setLimits(p *openai.ChatCompletionNewParams, req llm.Request, s server) {
	reasons, off := gpt.Reasoning(req.Model)
	if req.MaxTokens > 0 {
		limit := param.NewOpt(int64(req.MaxTokens))
		if s.official || reasons {
			p.MaxCompletionTokens = limit
		} else {
			p.MaxTokens = limit
		}
	}
	if !reasons {
		if req.Temperature != nil {
			p.Temperature = param.NewOpt(*req.Temperature)
		}
		return
	}
	switch {
	case req.Thinking.On():
		p.ReasoningEffort = shared.ReasoningEffort(req.Thinking)
	case req.Thinking == llm.ThinkingOff:
		p.ReasoningEffort = shared.ReasoningEffort(off)
	}
}
