package anthropic

import (
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/perdure/perdure/llm"
)

// imageBase64 is the API's maximum size of an image, in bytes of base64.
const imageBase64 = 10 << 20

// params creates the body of the request. The encoding of a message does not depend on later
// messages, so consecutive requests begin with the same bytes. The provider's prompt cache needs
// that.
func params(req llm.Request) anthropic.MessageNewParams {
	req = llm.Outward(req, llm.OutwardRules{Provider: Name, ImageBase64: imageBase64, Takes: takes})
	system, rest := llm.LeadingSystem(req)
	p := anthropic.MessageNewParams{Model: req.Model, Messages: conversation(req, rest)}
	for _, text := range system {
		p.System = append(p.System, anthropic.TextBlockParam{Text: text})
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, tool(t))
	}
	setLimits(&p, req)
	setUser(&p, req)
	setChoice(&p, req)
	setBreakpoints(&p)
	return p
}

func tool(t llm.ToolSpec) anthropic.ToolUnionParam {
	spec := &anthropic.ToolParam{Name: t.Name, InputSchema: schema(t.Schema)}
	if t.Strict != nil && *t.Strict { // older models do not know the member
		spec.Strict = param.NewOpt(true)
	}
	if t.Description != "" {
		spec.Description = param.NewOpt(t.Description)
	}
	return anthropic.ToolUnionParam{OfTool: spec}
}

// schema passes the schema of the arguments on unchanged. The SDK's own type for schemas would
// change the order of the keys.
func schema(raw json.RawMessage) anthropic.ToolInputSchemaParam {
	if len(raw) == 0 {
		return anthropic.ToolInputSchemaParam{}
	}
	return param.Override[anthropic.ToolInputSchemaParam](raw)
}

// setBreakpoints sets the positions up to which the provider caches the prompt. The first position
// is the end of the system prompt, which all turns share. The second position is the last block of
// the conversation, because the request of the next turn repeats everything up to it.
func setBreakpoints(p *anthropic.MessageNewParams) {
	mark := anthropic.NewCacheControlEphemeralParam()
	switch {
	case len(p.System) > 0:
		p.System[len(p.System)-1].CacheControl = mark
	case len(p.Tools) > 0:
		p.Tools[len(p.Tools)-1].OfTool.CacheControl = mark
	}
	if len(p.Messages) == 0 {
		return
	}
	content := p.Messages[len(p.Messages)-1].Content
	for i := len(content) - 1; i >= 0; i-- {
		if at := content[i].GetCacheControl(); at != nil { // reasoning blocks cannot have a breakpoint
			*at = mark
			return
		}
	}
}
