package gemini

import (
	"encoding/json"

	"github.com/perdure/perdure/llm"
)

// request is the body of the HTTP request.
type request struct {
	SystemInstruction *content         `json:"systemInstruction,omitempty"`
	Contents          []content        `json:"contents"`
	Tools             []toolSet        `json:"tools,omitempty"`
	ToolConfig        *toolConfig      `json:"toolConfig,omitempty"`
	GenerationConfig  generationConfig `json:"generationConfig"`
}

type toolSet struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

type generationConfig struct {
	MaxOutputTokens  int             `json:"maxOutputTokens,omitempty"`
	Temperature      *float32        `json:"temperature,omitempty"`
	TopP             *float32        `json:"topP,omitempty"`
	ThinkingConfig   *thinkingConfig `json:"thinkingConfig,omitempty"`
	ResponseMimeType string          `json:"responseMimeType,omitempty"`
	ResponseSchema   json.RawMessage `json:"responseJsonSchema,omitempty"`
}

// params creates the body of the request. The encoding of a message does not depend on later
// messages, so consecutive requests begin with the same bytes. The provider's prompt cache needs
// that. Arguments and schemas keep the order of keys and the form of numbers.
func params(req llm.Request) ([]byte, error) {
	if err := checkFormat(req); err != nil {
		return nil, err
	}
	req = llm.Outward(req, llm.OutwardRules{Provider: Name, Takes: takes})
	system, rest := llm.LeadingSystem(req)
	body := request{Contents: conversation(req, rest), ToolConfig: choice(req), GenerationConfig: limits(req)}
	if len(system) > 0 {
		body.SystemInstruction = &content{}
		for _, text := range system {
			body.SystemInstruction.Parts = append(body.SystemInstruction.Parts, textPart(text))
		}
	}
	if len(req.Tools) > 0 {
		body.Tools = []toolSet{{tools(req.Tools)}}
	}
	raw, err := json.Marshal(body)
	if err != nil { // arguments or a schema are invalid JSON
		return nil, &llm.Error{Kind: llm.InvalidRequest, Provider: Name, Message: "the request cannot be written", Err: err}
	}
	return raw, nil
}

func tools(specs []llm.ToolSpec) []function {
	var all []function
	for _, t := range specs {
		all = append(all, function{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return all
}

// limits returns the settings for the token limit, sampling, reasoning and the text format.
func limits(req llm.Request) generationConfig {
	c := generationConfig{
		MaxOutputTokens: min(req.MaxTokens, 1<<30), Temperature: single(req.Temperature), TopP: single(req.TopP),
		ThinkingConfig: familyOf(req.Model).thinking(req.Thinking, req.ReasoningSummary != ""),
	}
	if req.Format != nil {
		c.ResponseMimeType, c.ResponseSchema = "application/json", req.Format.Schema
	}
	return c
}

// single converts a number to float32, the precision of the API; nil is converted to nil.
func single(f *float64) *float32 {
	if f == nil {
		return nil
	}
	return new(float32(*f))
}
