package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// conversation returns messages of alternating roles, as the API requires. To do this, it joins
// adjacent messages of the same role. A user message begins with its tool results, in the order of
// the calls.
func conversation(req llm.Request, messages []perdure.Message) []anthropic.MessageParam {
	c := converter{
		model: llm.Model{Provider: Name, ID: req.Model},
		ids:   llm.ToolIDs(req.Messages, Name, llm.AnthropicIDs),
	}
	for m, results := range llm.Turns(messages) {
		switch m.Role {
		case perdure.RoleAssistant:
			c.add(anthropic.MessageParamRoleAssistant, c.assistant(m))
		case perdure.RoleToolResult:
			c.add(anthropic.MessageParamRoleUser, c.results(results))
		default: // the API has no system messages within a conversation
			c.add(anthropic.MessageParamRoleUser, orEmpty(content(m.Parts)))
		}
	}
	return c.turns
}

type converter struct {
	model llm.Model
	ids   map[string]string
	turns []anthropic.MessageParam
}

func (c *converter) add(role anthropic.MessageParamRole, blocks []anthropic.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if last := len(c.turns) - 1; last >= 0 && c.turns[last].Role == role {
		c.turns[last].Content = append(c.turns[last].Content, blocks...)
		return
	}
	c.turns = append(c.turns, anthropic.MessageParam{Role: role, Content: blocks})
}

func (c *converter) assistant(m perdure.Message) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	for _, p := range m.Parts {
		switch p.Type {
		case perdure.PartThinking:
			if llm.OwnThinking(m, p, c.model) {
				blocks = append(blocks, thinking(p))
			}
		case perdure.PartToolCall:
			// Raw JSON keeps the order of its keys when it is marshalled, so equal arguments are sent as
			// equal bytes.
			input := json.RawMessage(llm.OutwardArguments(p))
			blocks = append(blocks, anthropic.NewToolUseBlock(c.ids[p.ID], input, p.Name))
		case perdure.PartText: // the API accepts no images in the model's messages
			blocks = append(blocks, content([]perdure.Part{p})...)
		}
	}
	for n := len(blocks) - 1; n >= 0 && (blocks[n].OfThinking != nil || blocks[n].OfRedactedThinking != nil); n-- {
		blocks = blocks[:n] // the API refuses reasoning with no block after it
	}
	return blocks
}

// thinking returns the content block for a thinking part. The content is unchanged, because the
// provider checks its signature.
func thinking(p perdure.Part) anthropic.ContentBlockParamUnion {
	if p.Redacted {
		return anthropic.NewRedactedThinkingBlock(p.ThinkingSignature)
	}
	return anthropic.NewThinkingBlock(p.ThinkingSignature, p.Thinking)
}

func content(parts []perdure.Part) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	for _, p := range parts {
		switch {
		case p.Type == perdure.PartText && !blank(p.Text):
			blocks = append(blocks, anthropic.NewTextBlock(p.Text))
		case p.Type == perdure.PartImage && p.URL != "":
			blocks = append(blocks, anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: p.URL}))
		case p.Type == perdure.PartImage:
			blocks = append(blocks, anthropic.NewImageBlockBase64(p.MimeType, p.Data))
		case p.Type == perdure.PartFile:
			blocks = append(blocks, document(p))
		}
	}
	return blocks
}

// orEmpty returns the blocks of a user message, or a placeholder text if there are none. Without
// the placeholder, the message would be omitted, and the conversation would end with an assistant
// message.
func orEmpty(blocks []anthropic.ContentBlockParamUnion) []anthropic.ContentBlockParamUnion {
	if len(blocks) == 0 {
		return []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock("(empty message)")}
	}
	return blocks
}

func (c *converter) results(results []perdure.Part) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	for _, r := range results {
		block := &anthropic.ToolResultBlockParam{ToolUseID: c.resultID(r)}
		if r.IsError {
			block.IsError = param.NewOpt(true)
		}
		for _, b := range content(r.Parts) {
			block.Content = append(block.Content, anthropic.ToolResultBlockParamContentUnion{OfText: b.OfText, OfImage: b.OfImage, OfDocument: b.OfDocument})
		}
		if r.IsError && len(block.Content) == 0 { // the API refuses an error result without content
			block.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: "error"}}}
		}
		blocks = append(blocks, anthropic.ContentBlockParamUnion{OfToolResult: block})
	}
	return blocks
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

// blank reports whether the API refuses the text as blank.
func blank(s string) bool { return strings.TrimSpace(s) == "" }
