package openairesponses

import (
	"cmp"
	"encoding/json"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// request is the body of the HTTP request.
type request struct {
	Model             string     `json:"model"`
	Instructions      string     `json:"instructions,omitempty"`
	Input             []any      `json:"input"` // each a message, functionCall, callOutput or json.RawMessage
	Tools             []tool     `json:"tools,omitempty"`
	ToolChoice        any        `json:"tool_choice,omitempty"` // a string or a namedTool
	ParallelToolCalls *bool      `json:"parallel_tool_calls,omitempty"`
	Text              *text      `json:"text,omitempty"`
	MaxOutputTokens   int        `json:"max_output_tokens,omitempty"`
	Temperature       *float64   `json:"temperature,omitempty"`
	TopP              *float64   `json:"top_p,omitempty"`
	Reasoning         *reasoning `json:"reasoning,omitempty"`
	Include           []string   `json:"include,omitempty"`
	User              string     `json:"user,omitempty"`
	SafetyIdentifier  string     `json:"safety_identifier,omitempty"`
	PromptCacheKey    string     `json:"prompt_cache_key,omitempty"`
	Store             bool       `json:"store"`
	Stream            bool       `json:"stream"`
}

type text struct {
	Format    *format `json:"format,omitempty"`
	Verbosity string  `json:"verbosity,omitempty"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type tool struct {
	Type string `json:"type"`
	gpt.Function
}

// params creates the body of the request. The encoding of a message does not depend on later
// messages, so consecutive requests begin with the same bytes. The provider's prompt cache needs
// that.
func params(req llm.Request) request {
	req = llm.Outward(req, llm.OutwardRules{Provider: Name, Takes: takes})
	p := request{Model: req.Model, Input: conversation(req), Stream: true}
	if !blank(req.System) {
		p.Instructions = req.System
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, toolOf(t))
	}
	setLimits(&p, req)
	setHints(&p, req)
	setChoice(&p, req)
	return p
}

// toolOf returns the description of a tool. For a tool that is not strict, it sets strict to false:
// the API's default is true, and with true the API refuses most schemas.
func toolOf(t llm.ToolSpec) tool {
	f := gpt.Function{Name: t.Name, Description: t.Description, Strict: t.Strict, Parameters: t.Schema}
	if f.Strict == nil {
		f.Strict = new(false)
	}
	if len(f.Parameters) == 0 {
		f.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return tool{Type: "function", Function: f}
}

// setLimits sets the token limit, the reasoning and the sampling. The API refuses sampling
// parameters for models that reason, and a request for encrypted reasoning for other models.
func setLimits(p *request, req llm.Request) {
	p.MaxOutputTokens = max(0, req.MaxTokens)
	reasons, off := gpt.Reasoning(req.Model)
	if !reasons {
		p.Temperature, p.TopP = req.Temperature, req.TopP
		return
	}
	p.Include = []string{"reasoning.encrypted_content"}
	var r reasoning
	switch {
	case req.Thinking == llm.ThinkingXHigh:
		r = reasoning{Effort: gpt.Effort(req.Model), Summary: "auto"}
	case req.Thinking.On():
		r = reasoning{Effort: string(req.Thinking), Summary: "auto"}
	case req.Thinking == llm.ThinkingOff:
		r.Effort = off
	}
	r.Summary = cmp.Or(req.ReasoningSummary, r.Summary)
	if r != (reasoning{}) {
		p.Reasoning = &r
	}
}

// setHints sets the hints (perdure.Hints) that the API accepts.
func setHints(p *request, req llm.Request) {
	p.User, p.SafetyIdentifier, p.PromptCacheKey = req.User, req.SafetyIdentifier, req.PromptCacheKey
	if gpt.Verbosity(req.Model) && req.Verbosity != "" {
		p.Text = &text{Verbosity: req.Verbosity}
	}
}
