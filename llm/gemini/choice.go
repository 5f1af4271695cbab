package gemini

import (
	"google.golang.org/genai"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// Abilities implements llm.Able. The API cannot limit the number of parallel function calls.
func (p *Provider) Abilities() []llm.Ability {
	return []llm.Ability{llm.AbleToChooseTools, llm.AbleToFormat, llm.AbleToSayObject}
}

type toolConfig struct {
	FunctionCalling functionCalling `json:"functionCallingConfig"`
}

type functionCalling struct {
	Mode    genai.FunctionCallingConfigMode `json:"mode"`
	Allowed []string                        `json:"allowedFunctionNames,omitempty"`
}

// choice returns the tool choice; nil leaves it to the model. A strict tool requires a mode other
// than the default, which does not enforce schemas.
func choice(req llm.Request) *toolConfig {
	if len(req.Tools) == 0 {
		return nil
	}
	var f functionCalling
	switch req.ToolChoice {
	case perdure.ToolChoiceNone:
		f.Mode = genai.FunctionCallingConfigModeNone
	case perdure.ToolChoiceRequired:
		f.Mode = genai.FunctionCallingConfigModeAny
	case perdure.ToolChoiceTool:
		f = functionCalling{genai.FunctionCallingConfigModeAny, []string{req.ToolName}}
	default:
		if !anyStrict(req.Tools) {
			return nil
		}
		f.Mode = genai.FunctionCallingConfigModeValidated
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

// checkFormat refuses a text format together with functions, as the API does.
func checkFormat(req llm.Request) error {
	if req.Format == nil || len(req.Tools) == 0 {
		return nil
	}
	return &llm.Error{
		Kind: llm.InvalidRequest, Provider: Name,
		Message: "the provider does not take " + string(llm.AbleToFormat) + " and tools in one request; leave out one of them",
	}
}

// setFormat sets the text format. The schema is put into the body unchanged: the SDK would reorder
// its keys, and the model answers in the order of the keys.
func setFormat(request map[string]any, f *perdure.OutputFormat) {
	if f == nil {
		return
	}
	config, ok := request["generationConfig"].(map[string]any)
	if !ok {
		config = map[string]any{}
	}
	config["responseMimeType"] = "application/json"
	if f.Schema != nil {
		config["responseJsonSchema"] = f.Schema
	}
	request["generationConfig"] = config
}
