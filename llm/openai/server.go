package openai

import (
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// server describes the differences between OpenAI and compatible servers.
type server struct {
	official bool
	strict   bool // refuses unknown members
	ids      llm.IDRule
}

func serverAt(baseURL string) server {
	host := gpt.Host(baseURL)
	s := server{official: gpt.Official(host), ids: llm.CompatibleIDs}
	if s.official {
		s.ids = llm.OpenAIChatIDs
	}
	if host == "mistral.ai" || strings.HasSuffix(host, ".mistral.ai") {
		s.ids, s.strict = llm.MistralIDs, true
	}
	return s
}

// setLimits sets the token limit, the reasoning effort and the sampling. Many compatible servers
// know only max_tokens, which OpenAI's reasoning models refuse.
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
		if req.TopP != nil {
			p.TopP = param.NewOpt(*req.TopP)
		}
		return
	}
	switch {
	case req.Thinking == llm.ThinkingXHigh:
		p.ReasoningEffort = shared.ReasoningEffort(gpt.Effort(req.Model))
	case req.Thinking.On():
		p.ReasoningEffort = shared.ReasoningEffort(req.Thinking)
	case req.Thinking == llm.ThinkingOff:
		p.ReasoningEffort = shared.ReasoningEffort(off)
	}
}

// setHints sets the hints that the provider accepts.
func setHints(p *openai.ChatCompletionNewParams, req llm.Request, s server) {
	if gpt.Verbosity(req.Model) {
		p.Verbosity = openai.ChatCompletionNewParamsVerbosity(req.Verbosity)
	}
	if s.strict {
		return
	}
	if req.User != "" {
		p.User = param.NewOpt(req.User)
	}
	if req.SafetyIdentifier != "" {
		p.SafetyIdentifier = param.NewOpt(req.SafetyIdentifier)
	}
	if req.PromptCacheKey != "" {
		p.PromptCacheKey = param.NewOpt(req.PromptCacheKey)
	}
}
