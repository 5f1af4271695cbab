package openairesponses

import (
	"encoding/json"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// params creates the request. It depends only on req, and the form of a message does not depend on
// later messages. So the prefix stays the same from turn to turn, and the prompt cache hits.
func params(req llm.Request) responses.ResponseNewParams {
	req = llm.Outward(req, llm.OutwardRules{Provider: Name, Takes: takes})
	p := responses.ResponseNewParams{
		Model: req.Model,
		Store: param.NewOpt(false),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: conversation(req)},
	}
	if !blank(req.System) {
		p.Instructions = param.NewOpt(req.System)
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, tool(t))
	}
	setLimits(&p, req)
	setHints(&p, req)
	setChoice(&p, req)
	return p
}

// tool returns the specification of a tool. It sets strict to false unless the tool is strict: the
// API's default is true, and it then refuses most schemas.
func tool(t llm.ToolSpec) responses.ToolUnionParam {
	f := &responses.FunctionToolParam{Name: t.Name, Strict: param.NewOpt(false)}
	if t.Strict != nil {
		f.Strict = param.NewOpt(*t.Strict)
	}
	if t.Description != "" {
		f.Description = param.NewOpt(t.Description)
	}
	schema := json.RawMessage(t.Schema)
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	// The schema is passed on unchanged; a map would lose the order of its keys.
	f.SetExtraFields(map[string]any{"parameters": schema})
	return responses.ToolUnionParam{OfFunction: f}
}

// setLimits sets the token limit, the reasoning and the sampling. The API refuses sampling for
// models that reason, and encrypted reasoning for models that do not.
func setLimits(p *responses.ResponseNewParams, req llm.Request) {
	if req.MaxTokens > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(req.MaxTokens))
	}
	reasons, off := gpt.Reasoning(req.Model)
	if !reasons {
		if req.Temperature != nil {
			p.Temperature = param.NewOpt(*req.Temperature)
		}
		if req.TopP != nil {
			p.TopP = param.NewOpt(*req.TopP)
		}
		return
	}
	p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	switch {
	case req.Thinking == llm.ThinkingXHigh:
		p.Reasoning.Effort = shared.ReasoningEffort(gpt.Effort(req.Model))
		p.Reasoning.Summary = shared.ReasoningSummaryAuto
	case req.Thinking.On():
		p.Reasoning.Effort = shared.ReasoningEffort(req.Thinking)
		p.Reasoning.Summary = shared.ReasoningSummaryAuto
	case req.Thinking == llm.ThinkingOff:
		p.Reasoning.Effort = shared.ReasoningEffort(off)
	}
	if req.ReasoningSummary != "" {
		p.Reasoning.Summary = shared.ReasoningSummary(req.ReasoningSummary)
	}
}

// setHints sets the hints that the provider accepts.
func setHints(p *responses.ResponseNewParams, req llm.Request) {
	if req.User != "" {
		p.User = param.NewOpt(req.User)
	}
	if req.SafetyIdentifier != "" {
		p.SafetyIdentifier = param.NewOpt(req.SafetyIdentifier)
	}
	if req.PromptCacheKey != "" {
		p.PromptCacheKey = param.NewOpt(req.PromptCacheKey)
	}
	if gpt.Verbosity(req.Model) {
		p.Text.Verbosity = responses.ResponseTextConfigVerbosity(req.Verbosity)
	}
}
