package anthropic

import (
	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// setChoice sets the tool choice and the text format of the request.
func setChoice(p *anthropic.MessageNewParams, req llm.Request) {
	if len(p.Tools) > 0 { // without tools, the API refuses a tool choice
		p.ToolChoice = toolChoice(req)
	}
	if req.Format != nil {
		// The schema stays raw JSON, because decoding it to a map would lose the order of its keys.
		format := map[string]any{"type": "json_schema", "schema": req.Format.Schema}
		p.OutputConfig.Format = param.Override[anthropic.JSONOutputFormatParam](format)
	}
}

func toolChoice(req llm.Request) anthropic.ToolChoiceUnionParam {
	var one param.Opt[bool]
	if req.ParallelToolCalls != nil {
		one = param.NewOpt(!*req.ParallelToolCalls)
	}
	switch {
	case req.ToolChoice == perdure.ToolChoiceNone:
		none := anthropic.NewToolChoiceNoneParam()
		return anthropic.ToolChoiceUnionParam{OfNone: &none}
	case req.ToolChoice == perdure.ToolChoiceRequired:
		return anthropic.ToolChoiceUnionParam{OfAny: &anthropic.ToolChoiceAnyParam{DisableParallelToolUse: one}}
	case req.ToolChoice == perdure.ToolChoiceTool:
		return anthropic.ToolChoiceUnionParam{OfTool: &anthropic.ToolChoiceToolParam{Name: req.ToolName, DisableParallelToolUse: one}}
	case one.Valid():
		return anthropic.ToolChoiceUnionParam{OfAuto: &anthropic.ToolChoiceAutoParam{DisableParallelToolUse: one}}
	}
	return anthropic.ToolChoiceUnionParam{}
}
