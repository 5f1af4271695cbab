package openairesponses

import (
	"encoding/json"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// Abilities implements llm.Able.
func (p *Provider) Abilities() []llm.Ability {
	return []llm.Ability{llm.AbleToChooseTools, llm.AbleToCallOneTool, llm.AbleToFormat, llm.AbleToSayObject}
}

// setChoice sets the tool choice and the text format. Without tools, the API refuses a tool choice.
func setChoice(p *responses.ResponseNewParams, req llm.Request) {
	if len(req.Tools) > 0 {
		switch req.ToolChoice {
		case "":
		case perdure.ToolChoiceTool:
			p.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: req.ToolName}
		default:
			p.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptions(req.ToolChoice))
		}
		if req.ParallelToolCalls != nil {
			p.ParallelToolCalls = param.NewOpt(*req.ParallelToolCalls)
		}
	}
	if req.Format != nil {
		p.Text.Format = format(req.Format)
	}
}

func format(f *perdure.OutputFormat) responses.ResponseFormatTextConfigUnionParam {
	if f.Schema == nil {
		return responses.ResponseFormatTextConfigUnionParam{OfJSONObject: &shared.ResponseFormatJSONObjectParam{}}
	}
	s := &responses.ResponseFormatTextJSONSchemaConfigParam{Name: f.Name}
	if f.Strict != nil {
		s.Strict = param.NewOpt(*f.Strict)
	}
	if f.Description != "" {
		s.Description = param.NewOpt(f.Description)
	}
	// The schema is passed on unchanged; a map would lose the order of its keys.
	s.SetExtraFields(map[string]any{"schema": json.RawMessage(f.Schema)})
	return responses.ResponseFormatTextConfigUnionParam{OfJSONSchema: s}
}
