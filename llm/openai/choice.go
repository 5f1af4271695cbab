package openai

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// namedTool is the value of tool_choice that selects one tool.
type namedTool struct {
	Type     string       `json:"type"`
	Function gpt.Function `json:"function"`
}

type format struct {
	Type   string          `json:"type"`
	Schema *gpt.JSONSchema `json:"json_schema,omitempty"`
}

// setChoice sets the tool choice and the text format of the request.
func setChoice(p *request, req llm.Request) {
	switch req.ToolChoice {
	case "":
	case perdure.ToolChoiceTool:
		p.ToolChoice = namedTool{Type: "function", Function: gpt.Function{Name: req.ToolName}}
	default:
		p.ToolChoice = req.ToolChoice
	}
	if len(p.Tools) > 0 { // without tools, the API refuses this member
		p.ParallelToolCalls = req.ParallelToolCalls
	}
	switch f := req.Format; {
	case f == nil:
	case f.Schema == nil:
		p.ResponseFormat = &format{Type: "json_object"}
	default:
		p.ResponseFormat = &format{Type: "json_schema", Schema: gpt.SchemaOf(f)}
	}
}
