package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// Abilities implements llm.Able.
func (p *Provider) Abilities() []llm.Ability {
	return []llm.Ability{llm.AbleToChooseTools, llm.AbleToCallOneTool, llm.AbleToFormat, llm.AbleToSayObject}
}

// setChoice sets the tool choice and the text format.
func setChoice(p *openai.ChatCompletionNewParams, req llm.Request) {
	switch req.ToolChoice {
	case "":
	case perdure.ToolChoiceTool:
		p.ToolChoice.OfFunctionToolChoice = &openai.ChatCompletionNamedToolChoiceParam{
			Function: openai.ChatCompletionNamedToolChoiceFunctionParam{Name: req.ToolName},
		}
	default:
		p.ToolChoice.OfAuto = param.NewOpt(req.ToolChoice)
	}
	if req.ParallelToolCalls != nil && len(p.Tools) > 0 { // without tools the API refuses it
		p.ParallelToolCalls = param.NewOpt(*req.ParallelToolCalls)
	}
	if req.Format == nil {
		return
	}
	if req.Format.Schema == nil {
		p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		return
	}
	f := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: req.Format.Name, Schema: json.RawMessage(req.Format.Schema)}
	if req.Format.Strict != nil {
		f.Strict = param.NewOpt(*req.Format.Strict)
	}
	if req.Format.Description != "" {
		f.Description = param.NewOpt(req.Format.Description)
	}
	p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: f}
}
