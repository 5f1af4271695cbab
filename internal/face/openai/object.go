package openai

import (
	"cmp"
	"encoding/json"

	"github.com/perdure/perdure"
)

// object returns a response object with the members that repeat the parameters of the create
// request. Parameters that the request does not have get their default values.
func (r *request) object() Response {
	o := Response{
		Model: r.Model, Background: r.Background, Instructions: r.Instructions, MaxOutputTokens: r.MaxOutputTokens,
		ParallelToolCalls: r.ParallelToolCalls == nil || *r.ParallelToolCalls,
		Reasoning:         reasoningField{Effort: shownEffort(r.Effort), Summary: r.Summary}, Store: r.stored(), Temperature: 1, TopP: 1,
		Text: textField{Format: formatField{Type: "text"}, Verbosity: r.Verbosity}, ToolChoice: r.ToolChoice, Tools: r.Tools,
		Truncation: cmp.Or(r.Truncation, "disabled"), ServiceTier: "default", Metadata: r.Metadata, MaxToolCalls: r.MaxToolCalls,
		User: r.User, SafetyIdentifier: r.SafetyIdentifier, PromptCacheKey: r.PromptCacheKey, Conversation: r.field(),
	}
	if r.TopP != nil {
		o.TopP = *r.TopP
	}
	if r.Temperature != nil {
		o.Temperature = *r.Temperature
	}
	if r.Format != nil {
		o.Text.Format = *r.Format
	}
	if o.ToolChoice == nil {
		o.ToolChoice = json.RawMessage(`"auto"`)
	}
	if o.Tools == nil {
		o.Tools = []functionTool{}
	}
	if o.Metadata == nil {
		o.Metadata = map[string]string{}
	}
	if r.PreviousResponseID != "" {
		o.PreviousResponseID = &r.PreviousResponseID
	}
	return o
}

// shownEffort returns the reasoning effort that is used. "minimal" is shown as "low", because
// Perdure has no level between "none" and "low".
func shownEffort(effort *string) *string {
	if effort != nil && *effort == "minimal" {
		low := "low"
		return &low
	}
	return effort
}

// storedBody encodes the part of the create request that is stored with the response.
func (r *request) storedBody() (json.RawMessage, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "a request does not encode", Err: err}
	}
	return raw, nil
}

// requestOf decodes a stored create request. For a response that no create request began, the
// result contains only the model of the execution.
func requestOf(raw json.RawMessage, x *perdure.Execution) (request, error) {
	var r request
	if raw == nil {
		var in perdure.ReactInput
		r.Model = x.Kind
		if x.Kind == perdure.ReactKind && json.Unmarshal(x.Input, &in) == nil && len(in.Models) > 0 {
			r.Model = in.Models[0].String()
			r.Tools = toolsOf(in.ClientTools)
			r.Truncation = truncationOf(in)
		}
		return r, nil
	}
	err := json.Unmarshal(raw, &r)
	if err == nil && r.FormatRaw != nil {
		r.Format = &formatField{}
		err = json.Unmarshal(r.FormatRaw, r.Format)
	}
	if err == nil && r.ToolChoice != nil {
		err = parseToolChoice(&r, r.ToolChoice)
	}
	if err != nil {
		return r, &perdure.Error{Code: perdure.Internal, Message: "a kept request does not decode", Err: err}
	}
	return r, nil
}

// toolsOf returns, in the form of OpenAI's API, the tools that the client runs.
func toolsOf(clients []perdure.ClientTool) []functionTool {
	var all []functionTool
	for _, t := range clients {
		all = append(all, functionTool{Type: "function", Name: t.Name, Description: &t.Description, Parameters: t.Schema, Strict: t.Strict})
	}
	return all
}

// settings returns the agent's settings, changed by the parameters of the request.
func (r *request) settings(base perdure.ReactInput) perdure.ReactInput {
	if r.Instructions != nil {
		base.SystemPrompt = *r.Instructions
	}
	base.Config.MaxTokens = r.orTokens(base.Config.MaxTokens)
	if r.Temperature != nil {
		base.Config.Temperature = r.Temperature
	}
	if r.Effort != nil {
		base.Config.Thinking = efforts[*r.Effort]
	}
	base.ClientTools = nil
	for _, t := range r.Tools {
		one := perdure.ClientTool{Name: t.Name, Strict: t.Strict}
		if given(t.Parameters) {
			one.Schema = t.Parameters
		}
		if t.Description != nil {
			one.Description = *t.Description
		}
		base.ClientTools = append(base.ClientTools, one)
	}
	base.Hints, base.MaxToolCalls = r.hints(), r.MaxToolCalls
	base.Config.Compaction, base.Compact = r.compaction(base.Config.Compaction)
	base.CompactFrom = r.CompactFrom
	if r.toolChoice.mode != perdure.ToolChoiceAuto {
		base.ToolChoice, base.ToolName = r.toolChoice.mode, r.toolChoice.name
	}
	if r.ParallelToolCalls != nil && !*r.ParallelToolCalls {
		base.ParallelToolCalls = r.ParallelToolCalls
	}
	if f := r.Format; f != nil {
		base.Format = &perdure.OutputFormat{Name: f.Name, Schema: f.Schema, Strict: f.Strict}
		if f.Description != nil {
			base.Format.Description = *f.Description
		}
	}
	return base
}

func (r *request) orTokens(base *int) *int {
	if r.MaxOutputTokens != nil {
		return r.MaxOutputTokens
	}
	return base
}
