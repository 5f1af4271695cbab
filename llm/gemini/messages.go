package gemini

import (
	"encoding/json"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// content is one message of the conversation.
type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text             *string   `json:"text,omitempty"`
	Thought          bool      `json:"thought,omitempty"`
	InlineData       *blob     `json:"inlineData,omitempty"`
	FileData         *link     `json:"fileData,omitempty"`
	FunctionCall     *call     `json:"functionCall,omitempty"`
	FunctionResponse *response `json:"functionResponse,omitempty"`
	ThoughtSignature string    `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MimeType string `json:"mimeType"`
	Data     string `json:"data"`
}

type call struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type response struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

const (
	roleUser  = "user"
	roleModel = "model"
)

// unsigned is the value that Google documents as the signature of a function call that another
// model made. It is encoded in base64, as every signature is.
const unsigned = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=" // skip_thought_signature_validator

func conversation(req llm.Request, messages []perdure.Message) []content {
	c := converter{
		model: llm.Model{Provider: Name, ID: req.Model}, family: familyOf(req.Model),
		ids: llm.ToolIDs(req.Messages, Name, llm.GeminiIDs), names: map[string]string{},
		out: []content{},
	}
	for m, results := range llm.Turns(messages) {
		switch m.Role {
		case perdure.RoleAssistant:
			c.assistant(m)
		case perdure.RoleToolResult:
			c.results(results)
		default: // the API has no system messages within a conversation
			c.user(m.Parts)
		}
	}
	return c.out
}

type converter struct {
	model  llm.Model
	family family
	ids    map[string]string
	names  map[string]string // names of the called functions, by Perdure's id of the call
	out    []content
}

func textPart(text string) part { return part{Text: &text} }

func (c *converter) add(role string, parts []part) {
	c.out = append(c.out, content{Role: role, Parts: parts})
}

func (c *converter) user(in []perdure.Part) {
	parts := shown(in)
	if len(parts) == 0 {
		parts = []part{textPart("(empty message)")}
	}
	c.add(roleUser, parts)
}

func shown(in []perdure.Part) []part {
	var parts []part
	for _, p := range in {
		switch {
		case p.Type == perdure.PartText && !blank(p.Text):
			parts = append(parts, textPart(p.Text))
		case p.Type == perdure.PartImage || p.Type == perdure.PartFile:
			parts = append(parts, mediaPart(p))
		}
	}
	return parts
}

// assistant adds a message of the model. If the last message in `c` is a message of the model as
// well, the parts are added to that message, because the API accepts a function call only in a
// message that follows a user message.
func (c *converter) assistant(m perdure.Message) {
	parts := c.said(m)
	if len(parts) == 0 {
		return
	}
	if last := len(c.out) - 1; last >= 0 && c.out[last].Role == roleModel {
		c.out[last].Parts = append(c.out[last].Parts, parts...)
		return
	}
	c.add(roleModel, parts)
}

func (c *converter) said(m perdure.Message) []part {
	own := m.Provider == c.model.Provider && m.Model == c.model.ID
	signature := func(s string) string {
		if own {
			return s
		}
		return ""
	}
	var parts []part
	calls := 0
	for _, p := range m.Parts {
		switch p.Type {
		case perdure.PartText:
			if s := signature(p.TextSignature); s != "" || !blank(p.Text) {
				parts = append(parts, part{Text: &p.Text, ThoughtSignature: s})
			}
		case perdure.PartThinking:
			if llm.OwnThinking(m, p, c.model) {
				parts = append(parts, part{Text: &p.Thinking, Thought: true, ThoughtSignature: p.ThinkingSignature})
			}
		case perdure.PartImage:
			parts = append(parts, mediaPart(p))
		case perdure.PartToolCall:
			parts = append(parts, c.call(p, signature(p.ThinkingSignature), calls == 0))
			calls++
		}
	}
	return parts
}

// call returns a function call. The parameter `first` reports whether p is the first of parallel
// calls. Only the first call needs a signature, because a model signs only that one.
func (c *converter) call(p perdure.Part, signature string, first bool) part {
	if signature == "" && first && c.family.wantsSignatures() {
		signature = unsigned
	}
	c.names[p.ID] = p.Name
	return part{
		FunctionCall:     &call{ID: c.ids[p.ID], Name: p.Name, Args: json.RawMessage(llm.OutwardArguments(p))},
		ThoughtSignature: signature,
	}
}

// results adds one message with all tool results. Images follow in a separate message, because a
// function result cannot contain them.
func (c *converter) results(results []perdure.Part) {
	var parts, images []part
	for _, r := range results {
		id, known := c.ids[r.ToolCallID]
		if !known { // the conversation has no such call; with the id of r, the provider's error names it
			id = r.ToolCallID
		}
		name := r.ToolName
		if called := c.names[r.ToolCallID]; called != "" {
			name = called
		}
		var texts []string
		for _, p := range shown(r.Parts) {
			if p.Text != nil {
				texts = append(texts, *p.Text)
				continue
			}
			images = append(images, p)
			texts = append(texts, "("+what(p)+": see the message after the tool results)")
		}
		member := "output"
		if r.IsError {
			member = "error"
		}
		parts = append(parts, part{FunctionResponse: &response{
			ID: id, Name: name, Response: map[string]string{member: strings.Join(texts, "\n")},
		}})
	}
	c.add(roleUser, parts)
	if len(images) > 0 {
		c.add(roleUser, append([]part{textPart("The images of the tool results above, in order:")}, images...))
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
