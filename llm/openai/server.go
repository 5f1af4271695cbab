package openai

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/perdure/perdure/llm"
)

// server is what differs between OpenAI and the servers that are compatible
// with it.
type server struct {
	official bool
	ids      llm.IDRule
}

func serverAt(baseURL string) server {
	u, err := url.Parse(baseURL)
	if err != nil {
		return server{ids: llm.OpenAIChatIDs}
	}
	host := strings.ToLower(u.Hostname())
	s := server{official: host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com"), ids: llm.OpenAIChatIDs}
	if host == "mistral.ai" || strings.HasSuffix(host, ".mistral.ai") {
		s.ids = llm.MistralIDs
	}
	return s
}

// reasoningID matches models that reason: they take an effort, and no
// temperature. Gateways write a vendor before the id.
var reasoningID = regexp.MustCompile(`^(?:o\d|gpt-([5-9])(?:\.(\d+))?|gpt-oss)(-[a-z0-9.-]+)?$`)

type reasoning struct {
	is  bool
	off shared.ReasoningEffort // how reasoning is turned off or down; "" if it cannot be
}

func reasoningOf(model string) reasoning {
	m := reasoningID.FindStringSubmatch(strings.ToLower(model[strings.LastIndex(model, "/")+1:]))
	if m == nil || strings.Contains(m[3], "-chat") {
		return reasoning{}
	}
	r := reasoning{is: true}
	special := strings.Contains(m[3], "-codex") || strings.Contains(m[3], "-pro")
	switch {
	case special || m[1] != "5":
	case m[2] == "":
		r.off = shared.ReasoningEffortMinimal
	default:
		r.off = shared.ReasoningEffortNone
	}
	return r
}

// setLimits sets the token limit, the reasoning effort and the temperature.
// Compatible servers often know max_tokens only; OpenAI's reasoning models
// refuse it.
func setLimits(p *openai.ChatCompletionNewParams, req llm.Request, s server) {
	r := reasoningOf(req.Model)
	if req.MaxTokens > 0 {
		limit := param.NewOpt(int64(req.MaxTokens))
		if s.official || r.is {
			p.MaxCompletionTokens = limit
		} else {
			p.MaxTokens = limit
		}
	}
	if !r.is {
		if req.Temperature != nil {
			p.Temperature = param.NewOpt(*req.Temperature)
		}
		return
	}
	switch {
	case req.Thinking.On():
		p.ReasoningEffort = shared.ReasoningEffort(req.Thinking)
	case req.Thinking == llm.ThinkingOff:
		p.ReasoningEffort = r.off
	}
}
