package perdure

import "encoding/json"

// Role is the author of a message.
type Role string

const (
	RoleSystem     Role = "system"
	RoleUser       Role = "user"
	RoleAssistant  Role = "assistant"
	RoleToolResult Role = "tool_result"
)

// PartType is the type of a message part.
type PartType string

const (
	PartText       PartType = "text"
	PartThinking   PartType = "thinking"
	PartImage      PartType = "image"
	PartFile       PartType = "file"
	PartToolCall   PartType = "toolCall"
	PartToolResult PartType = "toolResult"
	// PartCompaction is the summary of an earlier part of the conversation. Its message is a user
	// message without other parts. Clients cannot send such a part.
	PartCompaction PartType = "compaction"
)

// Part is one part of a message, in a form that does not depend on a provider. Type determines which of
// the other fields are used.
type Part struct {
	Type PartType `json:"type"`

	// Text and TextSignature are the fields of a PartText. A PartCompaction has its summary in Text.
	Text          string `json:"text,omitempty"`
	TextSignature string `json:"textSignature,omitempty"`

	// Thinking and ThinkingSignature are the fields of a PartThinking. A redacted part has no text;
	// its signature is the data that must be sent back to the provider. A tool call may have the
	// ThinkingSignature of the thinking that led to it.
	Thinking          string `json:"thinking,omitempty"`
	ThinkingSignature string `json:"thinkingSignature,omitempty"`
	Redacted          bool   `json:"redacted,omitempty"`

	// An image or a file has Data (base64) and MimeType, or a URL, from which the provider fetches
	// the content. A file may instead have the FileID that a provider assigned to it. Detail is the
	// resolution at which a model looks at an image: low, high, auto or original.
	Data     string `json:"data,omitempty"`
	MimeType string `json:"mimeType,omitempty"`
	URL      string `json:"url,omitempty"`
	FileID   string `json:"fileId,omitempty"`
	Filename string `json:"filename,omitempty"`
	Detail   string `json:"detail,omitempty"`

	// ID and the fields below it describe a tool call. ID is Perdure's id, unique in the execution;
	// ProviderID is the provider's id. RawArguments is the text that the provider sent, unchanged.
	// Arguments is the same text as a JSON value; it is absent if the text is not valid JSON.
	ID           string          `json:"id,omitempty"`
	ProviderID   string          `json:"providerId,omitempty"`
	Name         string          `json:"name,omitempty"`
	Arguments    json.RawMessage `json:"arguments,omitempty"`
	RawArguments string          `json:"rawArguments,omitempty"`

	// ToolCallID and the fields below it describe a tool result: the id of the tool call, and the
	// output of the tool.
	ToolCallID string `json:"toolCallId,omitempty"`
	ToolName   string `json:"toolName,omitempty"`
	Parts      []Part `json:"parts,omitempty"`
	IsError    bool   `json:"isError,omitempty"`

	// Native is a content block in the provider's own format. It is stored unchanged and sent only to
	// the provider that Content.Provider names.
	Native json.RawMessage `json:"native,omitempty"`
}

// MarshalJSON writes the members that belong to a part's type, even if they are empty. For example,
// a text part always has the member "text".
func (p Part) MarshalJSON() ([]byte, error) {
	type plain Part
	switch p.Type {
	case PartText, PartCompaction:
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

// Text returns a text part.
func Text(s string) Part { return Part{Type: PartText, Text: s} }

// SummaryPrefix is the text that precedes a summary when a model reads it.
const SummaryPrefix = "Summary of the conversation so far:\n\n"

// Compaction returns a part of type PartCompaction. Its text is the summary that replaces earlier
// messages of the conversation.
func Compaction(summary string) Part { return Part{Type: PartCompaction, Text: summary} }

// StopReason is the reason why a model call or a response ended.
type StopReason string

const (
	StopEndTurn   StopReason = "end_turn"
	StopToolUse   StopReason = "tool_use"
	StopMaxTokens StopReason = "max_tokens"
	// StopContextLength is the reason if the output filled the model's context window, or if a
	// conversation does not fit into the window.
	StopContextLength StopReason = "context_length"
	StopTurnLimit     StopReason = "turn_limit"
	StopRefusal       StopReason = "refusal"
	StopError         StopReason = "error"
	StopCancelled     StopReason = "cancelled"
	// StopInterrupted is the reason if a person has stopped the response.
	StopInterrupted StopReason = "interrupted"
)

// Content is the content of a message entry. Provider, Model, Usage and StopReason are set on
// assistant messages. In a message with a PartCompaction, Provider and Model say which model made
// the Native block of the part.
type Content struct {
	Parts      []Part     `json:"parts"`
	Provider   string     `json:"provider,omitempty"`
	Model      string     `json:"model,omitempty"`
	Usage      *Usage     `json:"usage,omitempty"`
	StopReason StopReason `json:"stopReason,omitempty"`
}

// Message is the role and the decoded content of a message entry.
type Message struct {
	Role Role
	Content
}

// UserText returns a user message with one text part.
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

// PlainText returns the text parts of the content joined together. The text of a PartCompaction is its
// summary.
func (c Content) PlainText() string {
	var text string
	for _, p := range c.Parts {
		if p.Type == PartText || p.Type == PartCompaction {
			text += p.Text
		}
	}
	return text
}
