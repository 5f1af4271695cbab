package gemini

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

type toolConfig struct {
	FunctionCalling functionCalling `json:"functionCallingConfig"`
}

type functionCalling struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

// choice returns the tool choice of the request; nil lets the model choose. A strict tool needs a
// tool choice, because the default mode does not enforce schemas.
func choice(req llm.Request) *toolConfig {
	if len(req.Tools) == 0 {
		return nil
	}
	var f functionCalling
	switch req.ToolChoice {
	case perdure.ToolChoiceNone:
		f.Mode = "NONE"
	case perdure.ToolChoiceRequired:
		f.Mode = "ANY"
	case perdure.ToolChoiceTool:
		f = functionCalling{"ANY", []string{req.ToolName}}
	default:
		if !anyStrict(req.Tools) {
			return nil
		}
		f.Mode = "VALIDATED"
	}
	return &toolConfig{f}
}

func anyStrict(tools []llm.ToolSpec) bool {
	for _, t := range tools {
		if t.Strict != nil && *t.Strict {
			return true
		}
	}
	return false
}

// checkFormat refuses a request with both a text format and functions, because the API refuses it.
func checkFormat(req llm.Request) error {
	if req.Format == nil || len(req.Tools) == 0 {
		return nil
	}
	return &llm.Error{
		Kind: llm.InvalidRequest, Provider: Name,
		Message: "the provider does not take " + string(llm.AbleToFormat) + " and tools in one request; leave out one of them",
	}
}
