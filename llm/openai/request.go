package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

type message = openai.ChatCompletionMessageParamUnion

// params creates the request. It depends only on req and the server, and the form of a message does
// not depend on later messages. So the prefix stays the same from turn to turn, and the prompt
// cache hits.
func params(req llm.Request, s server) openai.ChatCompletionNewParams {
	req = llm.Outward(req, llm.OutwardRules{Provider: Name, Takes: takes})
	p := openai.ChatCompletionNewParams{
		Model:         req.Model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
		Messages:      conversation(req, s),
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, tool(t))
	}
	setLimits(&p, req, s)
	setHints(&p, req, s)
	setChoice(&p, req)
	return p
}

func tool(t llm.ToolSpec) openai.ChatCompletionToolUnionParam {
	f := shared.FunctionDefinitionParam{Name: t.Name}
	if t.Description != "" {
		f.Description = param.NewOpt(t.Description)
	}
	if t.Strict != nil {
		f.Strict = param.NewOpt(*t.Strict)
	}
	if len(t.Schema) > 0 {
		// The schema is passed on unchanged; a map would lose the order of its keys.
		f.SetExtraFields(map[string]any{"parameters": json.RawMessage(t.Schema)})
	}
	return openai.ChatCompletionFunctionTool(f)
}

func conversation(req llm.Request, s server) []message {
	c := converter{
		model: llm.Model{Provider: Name, ID: req.Model},
		ids:   llm.ToolIDs(req.Messages, Name, s.ids),
	}
	if !blank(req.System) {
		c.out = append(c.out, openai.SystemMessage(req.System))
	}
	for m, results := range llm.Turns(req.Messages) {
		switch m.Role {
		case perdure.RoleSystem:
			if text := m.PlainText(); !blank(text) {
				c.out = append(c.out, openai.SystemMessage(text))
			}
		case perdure.RoleAssistant:
			c.assistant(m)
		case perdure.RoleToolResult:
			c.results(results)
		default:
			c.user(m.Parts)
		}
	}
	return c.out
}

type converter struct {
	model llm.Model
	ids   map[string]string
	out   []message
}

// user sends a single text as a string, which every server accepts, and anything else as parts.
func (c *converter) user(parts []perdure.Part) {
	content := contentParts(parts)
	switch {
	case len(content) == 0:
		c.out = append(c.out, openai.UserMessage("(empty message)"))
	case len(content) == 1 && content[0].OfText != nil:
		c.out = append(c.out, openai.UserMessage(content[0].OfText.Text))
	default:
		c.out = append(c.out, openai.UserMessage(content))
	}
}

func contentParts(parts []perdure.Part) []openai.ChatCompletionContentPartUnionParam {
	var out []openai.ChatCompletionContentPartUnionParam
	for _, p := range parts {
		switch {
		case p.Type == perdure.PartText && !blank(p.Text):
			out = append(out, openai.TextContentPart(p.Text))
		case p.Type == perdure.PartImage:
			url := cmp.Or(p.URL, llm.DataURL(p))
			out = append(out, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: url, Detail: p.Detail}))
		case p.Type == perdure.PartFile:
			out = append(out, openai.FileContentPart(file(p)))
		}
	}
	return out
}

func (c *converter) assistant(m perdure.Message) {
	var a openai.ChatCompletionAssistantMessageParam
	if text := m.PlainText(); !blank(text) {
		a.Content.OfString = param.NewOpt(text)
	}
	for _, p := range m.ToolCalls() {
		call := &openai.ChatCompletionMessageFunctionToolCallParam{ID: c.ids[p.ID]}
		call.Function.Name, call.Function.Arguments = p.Name, llm.OutwardArguments(p)
		a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: call})
	}
	if len(a.ToolCalls) == 0 && !a.Content.OfString.Valid() {
		return
	}
	if fields := c.reasoningFields(m); len(fields) > 0 && len(a.ToolCalls) > 0 {
		a.SetExtraFields(fields)
	}
	c.out = append(c.out, message{OfAssistant: &a})
}

// reasoningFields returns a model's own reasoning for a message with tool calls, in the field in
// which it was received. Servers that stream reasoning expect it there.
func (c *converter) reasoningFields(m perdure.Message) map[string]any {
	fields := map[string]any{}
	for _, p := range m.Parts {
		if p.Type != perdure.PartThinking || !llm.OwnThinking(m, p, c.model) || !isReasoningField(p.ThinkingSignature) {
			continue
		}
		sofar, _ := fields[p.ThinkingSignature].(string)
		fields[p.ThinkingSignature] = sofar + p.Thinking
	}
	return fields
}

// results sends one tool message per result. Images and files, which tool messages cannot have,
// follow in a user message after the last result.
func (c *converter) results(results []perdure.Part) {
	var images []perdure.Part
	for _, r := range results {
		text, pictures := resultText(r)
		id, known := c.ids[r.ToolCallID]
		if !known { // the call is not on the path; the provider's error shall name it
			id = r.ToolCallID
		}
		c.out = append(c.out, openai.ToolMessage(text, id))
		images = append(images, pictures...)
	}
	if len(images) > 0 {
		c.user(append([]perdure.Part{perdure.Text("The images of the tool results above, in order:")}, images...))
	}
}

func resultText(r perdure.Part) (text string, images []perdure.Part) {
	var texts []string
	for _, p := range r.Parts {
		switch p.Type {
		case perdure.PartText:
			texts = append(texts, p.Text)
		case perdure.PartImage:
			images = append(images, p)
			texts = append(texts, "(image: see the message after the tool results)")
		case perdure.PartFile:
			images = append(images, p)
			texts = append(texts, "(file: see the message after the tool results)")
		}
	}
	text = strings.Join(texts, "\n")
	switch {
	case !blank(text):
	case r.IsError:
		text = "error"
	default:
		text = "(no output)"
	}
	return text, images
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
