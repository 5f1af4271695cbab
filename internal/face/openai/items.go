package openai

import (
	"cmp"
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/response"
)

// Item is an item of a response's input or output. Its Type determines which of the other members
// it has.
type Item struct {
	Type, ID, Status string

	// Members of a message.
	Role    string
	Content []Content

	// Members of a call of a tool that the client runs, and of the call's output.
	CallID, Name, Arguments string
	Output                  []Content // a single input_text is encoded as a JSON string

	// Result is the result of a tool that a worker has run, and Failure is its error. Both are nil
	// while the tool runs. Name and Arguments of the call are set, too.
	Result, Failure *string

	// Approval is set for a call of a tool that a worker runs. It is the id of the call's approval
	// request, or "" if no approval was needed. In an approval request, ID, Name and Arguments are
	// set.
	Approval string

	// Members of a reasoning item. Encrypted is opaque to the client, which sends it back unchanged.
	Summary   []Content
	Encrypted string

	// summary is the content of a compaction. The field Encrypted contains it in encrypted form.
	summary *sealedSummary
}

// Types of items.
const (
	itemMessage   = "message"
	itemCall      = "function_call"
	itemOutput    = "function_call_output"
	itemReasoning = "reasoning"
	itemToolCall  = "mcp_call" // call of a tool that a worker runs
	itemReference = "item_reference"
	// itemApproval asks the client whether a call of a tool that a worker runs is allowed.
	itemApproval = "mcp_approval_request"
	// itemVerdict is the client's answer to an itemApproval, in the input of a create request.
	itemVerdict = "mcp_approval_response"
	// itemCompaction is a summary that replaces the conversation before it.
	itemCompaction = "compaction"
)

// Content is a part of a message, of a call's output or of reasoning.
type Content struct {
	Type     string
	Text     string
	ImageURL string
	Detail   string // level of detail of an image

	// A file has one of FileData, FileURL and FileID.
	FileData, FileURL, FileID, Filename string
}

// Types of content.
const (
	contentInput   = "input_text"
	contentOutput  = "output_text"
	contentImage   = "input_image"
	contentFile    = "input_file"
	contentSummary = "summary_text"
)

// MarshalJSON encodes only the members that a content of this type has.
func (c Content) MarshalJSON() ([]byte, error) {
	switch c.Type {
	case contentOutput:
		return json.Marshal(struct {
			Type        string `json:"type"`
			Text        string `json:"text"`
			Annotations []any  `json:"annotations"`
			Logprobs    []any  `json:"logprobs"`
		}{c.Type, c.Text, []any{}, []any{}})
	case contentImage:
		return json.Marshal(struct {
			Type     string `json:"type"`
			ImageURL string `json:"image_url"`
			Detail   string `json:"detail"`
		}{c.Type, c.ImageURL, cmp.Or(c.Detail, "auto")})
	case contentFile:
		return json.Marshal(struct {
			Type string `json:"type"`
			Data string `json:"file_data,omitempty"`
			URL  string `json:"file_url,omitempty"`
			ID   string `json:"file_id,omitempty"`
			Name string `json:"filename,omitempty"`
		}{c.Type, c.FileData, c.FileURL, c.FileID, c.Filename})
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{c.Type, c.Text})
}

// MarshalJSON encodes only the members that an item of this type has.
func (i Item) MarshalJSON() ([]byte, error) {
	switch i.Type {
	case itemCall:
		return json.Marshal(struct {
			Type      string `json:"type"`
			ID        string `json:"id"`
			CallID    string `json:"call_id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
			Status    string `json:"status"`
		}{i.Type, i.ID, i.CallID, i.Name, i.Arguments, i.Status})
	case itemOutput:
		var output any = i.Output
		if text, ok := plain(i.Output); ok {
			output = text
		}
		return json.Marshal(struct {
			Type   string `json:"type"`
			ID     string `json:"id"`
			CallID string `json:"call_id"`
			Output any    `json:"output"`
			Status string `json:"status"`
		}{i.Type, i.ID, i.CallID, output, i.Status})
	case itemToolCall:
		return i.marshalToolCall()
	case itemApproval:
		return i.marshalApproval()
	case itemCompaction:
		return json.Marshal(struct {
			Type   string `json:"type"`
			ID     string `json:"id"`
			Sealed string `json:"encrypted_content"`
		}{i.Type, i.ID, i.Encrypted})
	case itemReasoning:
		return json.Marshal(struct {
			Type    string    `json:"type"`
			ID      string    `json:"id"`
			Summary []Content `json:"summary"`
			Sealed  string    `json:"encrypted_content,omitempty"`
		}{i.Type, i.ID, list(i.Summary), i.Encrypted})
	}
	return json.Marshal(struct {
		Type    string    `json:"type"`
		ID      string    `json:"id"`
		Status  string    `json:"status"`
		Role    string    `json:"role"`
		Content []Content `json:"content"`
	}{i.Type, i.ID, i.Status, i.Role, list(i.Content)})
}

func list(c []Content) []Content {
	if c == nil {
		return []Content{}
	}
	return c
}

// plain returns the text of a list of contents that is empty or has one text. For any other list it
// returns false.
func plain(content []Content) (string, bool) {
	switch {
	case len(content) == 0:
		return "", true
	case len(content) == 1 && content[0].Type == contentInput:
		return content[0].Text, true
	}
	return "", false
}

// contentOf converts parts of a message, or of a tool's result, to contents. The parameter `text`
// is the content type for text parts.
func contentOf(parts []perdure.Part, text string) []Content {
	var all []Content
	for _, p := range parts {
		switch p.Type {
		case perdure.PartText:
			all = append(all, Content{Type: text, Text: p.Text})
		case perdure.PartImage:
			all = append(all, Content{Type: contentImage, ImageURL: cmp.Or(p.URL, dataURL(p)), Detail: p.Detail})
		case perdure.PartFile:
			c := Content{Type: contentFile, FileURL: p.URL, FileID: p.FileID, Filename: p.Filename}
			if p.Data != "" {
				c.FileData = dataURL(p)
			}
			all = append(all, c)
		}
	}
	return all
}

func dataURL(p perdure.Part) string { return "data:" + p.MimeType + ";base64," + p.Data }

// split splits a message into messages that become one item each. Each part of an assistant
// message, and each result of a tool, is an item.
func split(m perdure.InputMessage) []perdure.InputMessage {
	if m.Role != perdure.RoleAssistant && m.Role != perdure.RoleToolResult {
		return []perdure.InputMessage{m}
	}
	var all []perdure.InputMessage
	for _, p := range m.Parts {
		all = append(all, perdure.InputMessage{Role: m.Role, Parts: []perdure.Part{p}})
	}
	return all
}

// itemOf returns the item for one of the messages that the function `split` has returned.
func itemOf(m perdure.InputMessage) Item {
	const done = statusCompleted
	switch m.Role {
	case perdure.RoleToolResult:
		p := m.Parts[0]
		return Item{Type: itemOutput, Status: done, CallID: p.ToolCallID, Output: contentOf(p.Parts, contentInput)}
	case perdure.RoleAssistant:
		p := m.Parts[0]
		switch p.Type {
		case perdure.PartThinking, partBlock:
			return Item{Type: itemReasoning, Summary: []Content{{Type: contentSummary, Text: p.Thinking}}}
		case perdure.PartToolCall:
			return Item{Type: itemCall, Status: done, CallID: p.ID, Name: p.Name, Arguments: p.RawArguments}
		}
		return Item{Type: itemMessage, Status: done, Role: "assistant", Content: contentOf(m.Parts, contentOutput)}
	}
	if m.Compaction != nil {
		return Item{Type: itemCompaction, summary: summaryOf(m)}
	}
	return Item{Type: itemMessage, Status: done, Role: string(m.Role), Content: contentOf(m.Parts, contentInput)}
}

// prefixOf returns the id prefix of items of a type.
func prefixOf(itemType string) string {
	switch itemType {
	case itemCall:
		return response.PrefixCall
	case itemOutput:
		return response.PrefixOutput
	case itemReasoning:
		return response.PrefixReasoning
	case itemToolCall:
		return prefixToolCall
	case itemCompaction:
		return prefixCompaction
	}
	return response.PrefixMessage
}
