package gemini

import (
	"encoding/json"

	"google.golang.org/genai"

	"github.com/perdure/perdure/llm"
)

// params creates the request. It depends only on req, and the form of a message does not depend on
// later messages. So the prefix stays the same from turn to turn, and the prompt cache hits. The
// conversation and the tools are sent as they are written here: the SDK would reorder arguments and
// schemas, round large numbers and drop empty texts.
func params(req llm.Request) (*genai.GenerateContentConfig, error) {
	if err := checkFormat(req); err != nil {
		return nil, err
	}
	req = llm.Outward(req, llm.OutwardRules{Provider: Name, Takes: takes})
	system, rest := llm.LeadingSystem(req)
	body := map[string]any{"contents": conversation(req, rest)}
	if len(system) > 0 {
		var parts []part
		for _, text := range system {
			parts = append(parts, textPart(text))
		}
		body["systemInstruction"] = content{Parts: parts}
	}
	if len(req.Tools) > 0 {
		body["tools"] = []any{map[string]any{"functionDeclarations": tools(req.Tools)}}
	}
	if c := choice(req); c != nil {
		body["toolConfig"] = c
	}
	for name, value := range body {
		raw, err := json.Marshal(value)
		if err != nil { // invalid JSON in arguments or a schema
			return nil, &llm.Error{Kind: llm.InvalidRequest, Provider: Name, Message: "the request cannot be written", Err: err}
		}
		body[name] = json.RawMessage(raw)
	}
	once := false
	config := &genai.GenerateContentConfig{
		AutomaticContinuation: &once, // one call is one request
		HTTPOptions: &genai.HTTPOptions{ExtrasRequestProvider: func(request map[string]any) map[string]any {
			for name, value := range body {
				request[name] = value
			}
			setFormat(request, req.Format)
			return request
		}},
	}
	setLimits(config, req)
	return config, nil
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema,omitempty"`
}

func tools(specs []llm.ToolSpec) []function {
	var all []function
	for _, t := range specs {
		all = append(all, function{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return all
}

func setLimits(c *genai.GenerateContentConfig, req llm.Request) {
	c.MaxOutputTokens = int32(min(req.MaxTokens, 1<<30))
	if req.Temperature != nil {
		t := float32(*req.Temperature)
		c.Temperature = &t
	}
	if req.TopP != nil {
		p := float32(*req.TopP)
		c.TopP = &p
	}
	c.ThinkingConfig = familyOf(req.Model).thinking(req.Thinking, req.ReasoningSummary != "")
}
