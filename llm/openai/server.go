package openai

import (
	"strings"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// server describes how OpenAI and compatible servers differ.
type server struct {
	official bool
	strict   bool // the server refuses unknown members
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

// setLimits sets the token limit, the reasoning effort and the sampling. OpenAI's reasoning models
// refuse the member max_tokens, but many compatible servers accept no other member for the token
// limit.
func setLimits(p *request, req llm.Request, s server) {
	reasons, off := gpt.Reasoning(req.Model)
	if req.MaxTokens > 0 {
		if s.official || reasons {
			p.MaxCompletionTokens = req.MaxTokens
		} else {
			p.MaxTokens = req.MaxTokens
		}
	}
	if !reasons {
		p.Temperature, p.TopP = req.Temperature, req.TopP
		return
	}
	switch {
	case req.Thinking == llm.ThinkingXHigh:
		p.ReasoningEffort = gpt.Effort(req.Model)
	case req.Thinking.On():
		p.ReasoningEffort = string(req.Thinking)
	case req.Thinking == llm.ThinkingOff:
		p.ReasoningEffort = off
	}
}

// setHints sets the hints (perdure.Hints) that the server accepts.
func setHints(p *request, req llm.Request, s server) {
	if gpt.Verbosity(req.Model) {
		p.Verbosity = req.Verbosity
	}
	if s.strict {
		return
	}
	p.User, p.SafetyIdentifier, p.PromptCacheKey = req.User, req.SafetyIdentifier, req.PromptCacheKey
}
