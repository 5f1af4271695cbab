package openairesponses

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

type message struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a string or a list of parts
	Phase   string `json:"phase,omitempty"`
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type callOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // a string or a list of parts
}

func conversation(req llm.Request) []any {
	c := converter{
		model: llm.Model{Provider: Name, ID: req.Model},
		ids:   llm.ToolIDs(req.Messages, Name, llm.OpenAIResponsesIDs),
		out:   []any{}, reasonings: map[string]bool{},
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
	out   []any
	// reasonings contains the ids of the reasoning items that were already added. If a server gave
	// several items the same id, only the first of them is sent back with that id.
	reasonings map[string]bool
}

// user adds a user message. A single text becomes a string, which every server accepts. Any other
// content becomes a list of parts.
func (c *converter) user(parts []perdure.Part) {
	var all []content
	for _, p := range parts {
		switch {
		case p.Type == perdure.PartText && !blank(p.Text):
			all = append(all, textOf(p.Text))
		case p.Type == perdure.PartImage:
			all = append(all, imageOf(p, cmp.Or(p.Detail, "auto")))
		case p.Type == perdure.PartFile:
			all = append(all, fileOf(p))
		}
	}
	m := message{Role: "user", Content: all}
	switch {
	case len(all) == 0:
		m.Content = "(empty message)"
	case len(all) == 1 && all[0].Type == "input_text":
		m.Content = all[0].Text
	}
	c.out = append(c.out, m)
}

// assistant adds an item for each part of an assistant message. A reasoning item is added only
// before the item of a later part, because the API refuses reasoning at the end.
func (c *converter) assistant(m perdure.Message) {
	var waiting []any
	add := func(i any) {
		c.out = append(append(c.out, waiting...), i)
		waiting = nil
	}
	for _, p := range m.Parts {
		switch {
		case p.Type == perdure.PartThinking && llm.OwnThinking(m, p, c.model):
			if i, ok := c.reasoning(p); ok {
				waiting = append(waiting, i)
			}
		case p.Type == perdure.PartText && !blank(p.Text):
			add(c.said(m, p))
		case p.Type == perdure.PartToolCall:
			add(functionCall{"function_call", c.ids[p.ID], p.Name, llm.OutwardArguments(p)})
		}
	}
}

// said returns the item for a text of the model. The item's phase (commentary or final answer) is
// sent only to the model that set the phase.
func (c *converter) said(m perdure.Message, p perdure.Part) any {
	i := message{Role: "assistant", Content: p.Text}
	if p.TextSignature != "" && m.Provider == c.model.Provider && m.Model == c.model.ID {
		i.Phase = p.TextSignature
	}
	return i
}

// reasoning returns the reasoning item of a thinking part, unchanged.
func (c *converter) reasoning(p perdure.Part) (any, bool) {
	var block reasoningBlock
	if json.Unmarshal(p.Native, &block) != nil || len(block.Summary) == 0 {
		return nil, false
	}
	block.EncryptedContent = p.ThinkingSignature
	if c.reasonings[block.ID] {
		block.ID = ""
	}
	c.reasonings[block.ID] = true
	raw, err := json.Marshal(block)
	if err != nil {
		return nil, false
	}
	return json.RawMessage(raw), true
}

func (c *converter) results(results []perdure.Part) {
	for _, r := range results {
		c.out = append(c.out, callOutput{"function_call_output", c.resultID(r), output(r)})
	}
}

// resultID returns the id that the request contains for the call of the tool result r. If the
// conversation has no such call, resultID returns the id in r, so that the provider's error message
// contains it.
func (c *converter) resultID(r perdure.Part) string {
	if id, known := c.ids[r.ToolCallID]; known {
		return id
	}
	return r.ToolCallID
}

// output returns the output of a tool call. The output is a string, which every server accepts,
// unless the result contains images or files.
func output(r perdure.Part) any {
	var texts []string
	var list []content
	images := false
	for _, p := range r.Parts {
		switch {
		case p.Type == perdure.PartText && !blank(p.Text):
			texts = append(texts, p.Text)
			list = append(list, textOf(p.Text))
		case p.Type == perdure.PartImage:
			images = true
			list = append(list, imageOf(p, p.Detail))
		case p.Type == perdure.PartFile:
			images = true
			list = append(list, fileOf(p))
		}
	}
	if images {
		return list
	}
	text := strings.Join(texts, "\n")
	switch {
	case text != "":
	case r.IsError:
		text = "error"
	default:
		text = "(no output)"
	}
	return text
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }
