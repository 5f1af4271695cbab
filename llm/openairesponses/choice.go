package openairesponses

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// namedTool is the value of tool_choice that selects one tool.
type namedTool struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

type format struct {
	Type string `json:"type"`
	*gpt.JSONSchema
}

// setChoice sets the tool choice and the text format of the request. It sets no tool choice if
// there are no tools, because the API refuses a tool choice without tools.
func setChoice(p *request, req llm.Request) {
	if len(req.Tools) > 0 {
		switch req.ToolChoice {
		case "":
		case perdure.ToolChoiceTool:
			p.ToolChoice = namedTool{Type: "function", Name: req.ToolName}
		default:
			p.ToolChoice = req.ToolChoice
		}
		p.ParallelToolCalls = req.ParallelToolCalls
	}
	if req.Format == nil {
		return
	}
	if p.Text == nil {
		p.Text = &text{}
	}
	p.Text.Format = &format{Type: "json_object"}
	if req.Format.Schema != nil {
		p.Text.Format = &format{Type: "json_schema", JSONSchema: gpt.SchemaOf(req.Format)}
	}
}
