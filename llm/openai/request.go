package openai

import (
	"cmp"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/gpt"
)

// request is the body of the HTTP request.
type request struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Tools               []tool         `json:"tools,omitempty"`
	ToolChoice          any            `json:"tool_choice,omitempty"` // a string or a namedTool
	ParallelToolCalls   *bool          `json:"parallel_tool_calls,omitempty"`
	ResponseFormat      *format        `json:"response_format,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	TopP                *float64       `json:"top_p,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	Verbosity           string         `json:"verbosity,omitempty"`
	User                string         `json:"user,omitempty"`
	SafetyIdentifier    string         `json:"safety_identifier,omitempty"`
	PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
	Stream              bool           `json:"stream,omitempty"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role             string     `json:"role"`
	Content          any        `json:"content,omitempty"` // a string or parts
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
	Reasoning        *string    `json:"reasoning,omitempty"`
	ReasoningContent *string    `json:"reasoning_content,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type part struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *imagePart `json:"image_url,omitempty"`
	File  *filePart  `json:"file,omitempty"`
}

type imagePart struct {
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

type tool struct {
	Type     string       `json:"type"`
	Function gpt.Function `json:"function"`
}

// params creates the body of the request. The encoding of a message does not depend on later
// messages, so consecutive requests begin with the same bytes. The provider's prompt cache needs
// that.
func params(req llm.Request, s server) request {
	req = llm.Outward(req, llm.OutwardRules{Provider: Name, Takes: takes})
	p := request{
		Model: req.Model, Messages: conversation(req, s),
		Stream: true, StreamOptions: &streamOptions{IncludeUsage: true},
	}
	for _, t := range req.Tools {
		f := gpt.Function{Name: t.Name, Description: t.Description, Strict: t.Strict, Parameters: t.Schema}
		p.Tools = append(p.Tools, tool{Type: "function", Function: f})
	}
	setLimits(&p, req, s)
	setHints(&p, req, s)
	setChoice(&p, req)
	return p
}

func conversation(req llm.Request, s server) []message {
	c := converter{
		model: llm.Model{Provider: Name, ID: req.Model},
		ids:   llm.ToolIDs(req.Messages, Name, s.ids),
	}
	if !blank(req.System) {
		c.out = append(c.out, message{Role: "system", Content: req.System})
	}
	for m, results := range llm.Turns(req.Messages) {
		switch m.Role {
		case perdure.RoleSystem:
			if text := m.PlainText(); !blank(text) {
				c.out = append(c.out, message{Role: "system", Content: text})
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

// user adds a user message. A single text becomes a string, which every server accepts. Any other
// content becomes a list of parts.
func (c *converter) user(parts []perdure.Part) {
	content := contentParts(parts)
	switch {
	case len(content) == 0:
		c.out = append(c.out, message{Role: "user", Content: "(empty message)"})
	case len(content) == 1 && content[0].Type == "text":
		c.out = append(c.out, message{Role: "user", Content: content[0].Text})
	default:
		c.out = append(c.out, message{Role: "user", Content: content})
	}
}

func contentParts(parts []perdure.Part) []part {
	var out []part
	for _, p := range parts {
		switch {
		case p.Type == perdure.PartText && !blank(p.Text):
			out = append(out, part{Type: "text", Text: p.Text})
		case p.Type == perdure.PartImage:
			url := cmp.Or(p.URL, llm.DataURL(p))
			out = append(out, part{Type: "image_url", Image: &imagePart{URL: url, Detail: p.Detail}})
		case p.Type == perdure.PartFile:
			out = append(out, part{Type: "file", File: file(p)})
		}
	}
	return out
}

func (c *converter) assistant(m perdure.Message) {
	a := message{Role: "assistant"}
	if text := m.PlainText(); !blank(text) {
		a.Content = text
	}
	for _, p := range m.ToolCalls() {
		call := functionCall{Name: p.Name, Arguments: llm.OutwardArguments(p)}
		a.ToolCalls = append(a.ToolCalls, toolCall{ID: c.ids[p.ID], Type: "function", Function: call})
	}
	if len(a.ToolCalls) == 0 && a.Content == nil {
		return
	}
	if len(a.ToolCalls) > 0 {
		c.addReasoning(&a, m)
	}
	c.out = append(c.out, a)
}

// addReasoning adds the model's own reasoning to a message with tool calls, in the member in which
// it was received, because servers expect it there.
func (c *converter) addReasoning(a *message, m perdure.Message) {
	for _, p := range m.Parts {
		if p.Type != perdure.PartThinking || !llm.OwnThinking(m, p, c.model) || !isReasoningField(p.ThinkingSignature) {
			continue
		}
		field := &a.Reasoning
		if p.ThinkingSignature == "reasoning_content" {
			field = &a.ReasoningContent
		}
		if *field == nil {
			*field = new(string)
		}
		**field += p.Thinking
	}
}

// results adds one tool message for each result. Images and files follow in a user message, because
// tool messages cannot contain them.
func (c *converter) results(results []perdure.Part) {
	var images []perdure.Part
	for _, r := range results {
		text, pictures := resultText(r)
		id, known := c.ids[r.ToolCallID]
		if !known { // the conversation has no such call; with the id of r, the provider's error names it
			id = r.ToolCallID
		}
		c.out = append(c.out, message{Role: "tool", Content: text, ToolCallID: id})
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
