package perdure

import "encoding/json"

// Role says who speaks in a message entry.
type Role string

const (
	RoleSystem     Role = "system"
	RoleUser       Role = "user"
	RoleAssistant  Role = "assistant"
	RoleToolResult Role = "tool_result"
)

// PartType tells the kinds of message parts apart.
type PartType string

const (
	PartText       PartType = "text"
	PartThinking   PartType = "thinking"
	PartImage      PartType = "image"
	PartFile       PartType = "file"
	PartToolCall   PartType = "toolCall"
	PartToolResult PartType = "toolResult"
)

// Part is one piece of a message, neutral to providers. Type says which of the
// other fields count.
type Part struct {
	Type PartType `json:"type"`

	// Text and its opaque signature, for PartText.
	Text          string `json:"text,omitempty"`
	TextSignature string `json:"textSignature,omitempty"`

	// Thinking, for PartThinking. A redacted part has no text: its signature
	// holds what the provider wants back. A tool call may have the signature of
	// the thinking that led to it.
	Thinking          string `json:"thinking,omitempty"`
	ThinkingSignature string `json:"thinkingSignature,omitempty"`
	Redacted          bool   `json:"redacted,omitempty"`

	// An image or a file: its Data (base64) and MIME type, or the URL that the
	// provider fetches it from. A file may instead have the FileID that its provider
	// gave it. Detail is how closely a model looks at an image: low, high, auto or
	// original.
	Data     string `json:"data,omitempty"`
	MimeType string `json:"mimeType,omitempty"`
	URL      string `json:"url,omitempty"`
	FileID   string `json:"fileId,omitempty"`
	Filename string `json:"filename,omitempty"`
	Detail   string `json:"detail,omitempty"`

	// A tool call. ID is ours, unique in the execution; ProviderID is what the
	// provider called it. RawArguments is the text as received, kept verbatim;
	// Arguments is the same as JSON, absent where it is not valid JSON.
	ID           string          `json:"id,omitempty"`
	ProviderID   string          `json:"providerId,omitempty"`
	Name         string          `json:"name,omitempty"`
	Arguments    json.RawMessage `json:"arguments,omitempty"`
	RawArguments string          `json:"rawArguments,omitempty"`

	// A tool result: the call it answers, and what the tool said.
	ToolCallID string `json:"toolCallId,omitempty"`
	ToolName   string `json:"toolName,omitempty"`
	Parts      []Part `json:"parts,omitempty"`
	IsError    bool   `json:"isError,omitempty"`

	// Native is a provider's own block, kept verbatim and sent back to that
	// provider only.
	Native json.RawMessage `json:"native,omitempty"`
}

// MarshalJSON writes the members that make a part of its type, also where they
// are empty: a text has its text, a result its tool, its parts and whether it is an
// error.
func (p Part) MarshalJSON() ([]byte, error) {
	type plain Part
	switch p.Type {
	case PartText:
		if p.Text == "" {
			return json.Marshal(struct {
				plain
				Text string `json:"text"`
			}{plain: plain(p)})
		}
	case PartThinking:
		if p.Thinking == "" {
			return json.Marshal(struct {
				plain
				Thinking string `json:"thinking"`
			}{plain: plain(p)})
		}
	case PartToolResult:
		parts := p.Parts
		if parts == nil {
			parts = []Part{}
		}
		return json.Marshal(struct {
			plain
			ToolName string `json:"toolName"`
			Parts    []Part `json:"parts"`
			IsError  bool   `json:"isError"`
		}{plain(p), p.ToolName, parts, p.IsError})
	}
	return json.Marshal(plain(p))
}

// Text is a text part.
func Text(s string) Part { return Part{Type: PartText, Text: s} }

// StopReason says why a model call, or a response, ended.
type StopReason string

const (
	StopEndTurn   StopReason = "end_turn"
	StopToolUse   StopReason = "tool_use"
	StopMaxTokens StopReason = "max_tokens"
	StopTurnLimit StopReason = "turn_limit"
	StopRefusal   StopReason = "refusal"
	StopError     StopReason = "error"
	StopCancelled StopReason = "cancelled"
)

// Content is what a message entry holds. Provider, Model, Usage and StopReason
// are set on assistant messages.
type Content struct {
	Parts      []Part     `json:"parts"`
	Provider   string     `json:"provider,omitempty"`
	Model      string     `json:"model,omitempty"`
	Usage      *Usage     `json:"usage,omitempty"`
	StopReason StopReason `json:"stopReason,omitempty"`
}

// Message is a message entry's role and decoded content.
type Message struct {
	Role Role
	Content
}

// UserText is a user message of one text part.
func UserText(text string) Message {
	return Message{Role: RoleUser, Content: Content{Parts: []Part{Text(text)}}}
}

// ToolCalls returns the message's tool call parts in call order.
func (c Content) ToolCalls() []Part {
	var calls []Part
	for _, p := range c.Parts {
		if p.Type == PartToolCall {
			calls = append(calls, p)
		}
	}
	return calls
}

// PlainText joins the text parts.
func (c Content) PlainText() string {
	var text string
	for _, p := range c.Parts {
		if p.Type == PartText {
			text += p.Text
		}
	}
	return text
}
